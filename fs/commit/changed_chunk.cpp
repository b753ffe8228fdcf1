#include "fs/commit/changed_chunk.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "codec/chunk.hpp"
#include "fs/support/pooled_buffer.hpp"

namespace bloscfs::fs {
namespace {

/// True if the changes replace every byte of the range. They may overlap, in any order.
bool covers(const ChunkChanges& changes, const codec::ByteRange& range) {
  std::vector<codec::ByteRange> parts;
  for (const ChunkChange& change : changes) parts.push_back({change.chunk_offset, change.size});
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::int64_t reached = range.offset;
  for (const codec::ByteRange& part : parts) {
    if (part.offset > reached) break;
    reached = std::max(reached, end_of(part));
  }
  return reached >= end_of(range);
}

/// Returns how many bytes of the chunk the changes replace.
std::int64_t replaced_bytes(const ChunkChanges& changes) {
  std::vector<codec::ByteRange> parts;
  for (const ChunkChange& change : changes) parts.push_back({change.chunk_offset, change.size});
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::int64_t sum = 0, reached = 0;
  for (const codec::ByteRange& part : parts) {
    sum += std::max<std::int64_t>(0, end_of(part) - std::max(reached, part.offset));
    reached = std::max(reached, end_of(part));
  }
  return sum;
}

/// Returns the bytes of a range of the chunk, with the changes applied.
std::vector<std::uint8_t> merged(Request& request, const FileView& view, std::int64_t chunk,
                                 const codec::ByteRange& range, const ChunkChanges& changes) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(range.size));
  if (!covers(changes, range))
    view.reader().visit_chunk(
        request, chunk, range.offset, range.size,
        [&](const BlockReader::Span& span, std::int64_t at) {
          span.copy(0, codec::MutableBytes(out).subspan(static_cast<std::size_t>(at),
                                                        static_cast<std::size_t>(span.size)));
        });
  apply_changes(changes, range.offset, out);
  return out;
}

std::set<std::int32_t> changed_blocks(const codec::Chunk& chunk, const ChunkChanges& changes) {
  std::set<std::int32_t> blocks;
  for (const ChunkChange& change : changes) {
    const std::int32_t last = chunk.block_at(change.chunk_offset + change.size - 1);
    for (std::int32_t block = chunk.block_at(change.chunk_offset); block <= last; block++)
      blocks.insert(block);
  }
  return blocks;
}

}  // namespace

codec::EncodedSize encode_changed_chunk(Request& request, codec::ChunkEncoder& encoder,
                                        const FileView& view, std::int64_t number,
                                        const ChunkSize& size, const ChunkChanges& changes,
                                        codec::MutableBytes out) {
  const frame::Snapshot& snapshot = view.reader().snapshot();
  // A damaged chunk can be written anew, although no write reaches its padding.
  if (number >= snapshot.info().nchunks || replaced_bytes(changes) == size.used) {
    std::vector<std::uint8_t> contents(static_cast<std::size_t>(size.nbytes));
    apply_changes(changes, 0, contents);
    return encoder.encode_into(contents, out);
  }
  const auto encode_all = [&] {
    return encoder.encode_into(merged(request, view, number, {0, size.nbytes}, changes), out);
  };
  const auto opened = view.reader().open_chunk(request, number);
  // Bytes that do not match their checksum must not get a new one, which would hide the damage.
  view.reader().require_checksum(request, *opened);
  const codec::Chunk& old = opened->chunk;
  // Single blocks can be exchanged only if the chunk has the offset of each block and keeps its
  // size. Special and stored chunks, VL blocks, and the last chunk of a growing file are encoded as
  // a whole.
  if (!old.header().has_block_starts() || old.header().vl_blocks || old.nbytes() != size.nbytes)
    return encode_all();
  const std::set<std::int32_t> blocks = changed_blocks(old, changes);
  // All blocks change, so no stored block would be kept.
  if (blocks.size() == static_cast<std::size_t>(old.block_count())) return encode_all();
  // Read all stored bytes of the chunk: unchanged blocks are copied from them, and changed blocks
  // are decoded from them.
  PooledBuffer stored(view.reader().cache().pages());
  const auto stored_size = static_cast<std::size_t>(old.header().cbytes);
  snapshot.read_stored(*opened, {0, old.header().cbytes}, stored.room_for(stored_size));
  std::vector<std::vector<std::uint8_t>> contents;
  std::vector<codec::BlockUpdate> updates;
  for (const std::int32_t block : blocks) {
    const codec::ByteRange range = old.block_content(block);
    contents.emplace_back(static_cast<std::size_t>(range.size));
    if (!covers(changes, range))
      view.reader().blocks().decode_stored(*opened, stored, block, contents.back());
    apply_changes(changes, range.offset, contents.back());
    updates.push_back({block, contents.back()});
  }
  return encoder.update_into(old, stored, updates, out);
}

}  // namespace bloscfs::fs
