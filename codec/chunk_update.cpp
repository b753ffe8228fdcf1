// Updates chunks of which some blocks have changed: ChunkEncoder::update().

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "codec/chunk_encoder.hpp"
#include "codec/chunk_layout.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {
namespace {

/// The changed blocks by number; null for unchanged ones.
using Changes = std::span<const BlockUpdate* const>;

Bytes stored_block(const Chunk& chunk, Bytes stored, std::int32_t block) {
  const ByteRange range = chunk.block_stored(block);
  return stored.subspan(static_cast<std::size_t>(range.offset),
                        static_cast<std::size_t>(range.size));
}

void check_changes(const Chunk& old, Bytes old_stored, std::span<const BlockUpdate> changed) {
  const auto cbytes = static_cast<std::size_t>(old.header().cbytes);
  if (old.block_count() > 0 && !old.header().is_special() && old_stored.size() < cbytes) {
    throw std::invalid_argument("stored chunk of " + std::to_string(old_stored.size()) +
                                " bytes, not " + std::to_string(cbytes));
  }
  for (const BlockUpdate& change : changed) {
    if (change.contents.size() != static_cast<std::size_t>(old.block_content(change.block).size)) {
      throw std::invalid_argument("new contents do not fit block " + std::to_string(change.block));
    }
  }
}

std::vector<const BlockUpdate*> by_block(const Chunk& old, std::span<const BlockUpdate> changed) {
  std::vector<const BlockUpdate*> changes(static_cast<std::size_t>(old.block_count()));
  for (const BlockUpdate& change : changed) {
    changes[static_cast<std::size_t>(change.block)] = &change;
  }
  return changes;
}

bool depends_on_shape(const ChunkHeader& header) {
  return std::any_of(header.filters.begin(), header.filters.end(), [](const FilterStep& step) {
    const FilterRow* const filter = find_filter(step.id);
    return filter != nullptr && filter->depends_on_shape;
  });
}

/// True if changed blocks can be replaced: the chunk is of a kind that can be written, and some
/// blocks stay as they are stored.
bool keeps_layout(const ChunkHeader& header, Changes changes) {
  if (header.version != kChunkVersionBlosc2 || header.header_size != kExtendedHeaderSize ||
      header.vl_blocks || header.blocksize % header.stream_count(header.blocksize) != 0) {
    return false;
  }
  if (!codec_problem(header).empty() || !filter_problem(header).empty()) return false;
  // With such a loss, new contents would not be read back as written, and the old bytes in a
  // changed block would lose more.
  if (loss_of(header.codec, header.filters) == Loss::every_time) return false;
  // plan_chunk() would leave out such filters in a chunk whose last block is shorter.
  if (depends_on_shape(header) && header.nbytes % header.blocksize != 0) return false;
  // The other blocks refer to block 0.
  if (changes[0] != nullptr && header.has_filter(FilterId::delta)) return false;
  return std::find(changes.begin(), changes.end(), nullptr) != changes.end();
}

MutableBytes part_of(MutableBytes contents, ByteRange range) {
  return contents.subspan(static_cast<std::size_t>(range.offset),
                          static_cast<std::size_t>(range.size));
}

/// Returns the contents of a chunk without blocks. Does not go through its virtual blocks, which
/// may be very many.
std::vector<std::uint8_t> plain_contents(const Chunk& chunk, Bytes stored) {
  std::vector<std::uint8_t> contents(static_cast<std::size_t>(chunk.nbytes()));
  if (contents.empty()) return contents;
  if (chunk.header().is_special()) {
    chunk.fill_special(0, contents);
  } else {
    std::memcpy(contents.data(), stored.data() + chunk.header().header_size, contents.size());
  }
  return contents;
}

}  // namespace

void ChunkEncoder::decode_block(const Chunk& old, Bytes old_stored, std::int32_t block,
                                Bytes reference, MutableBytes out) {
  decoder_.decode(old, block, stored_block(old, old_stored, block), reference, out);
}

/// Returns block 0 if other blocks refer to it, else nothing.
std::vector<std::uint8_t> ChunkEncoder::decode_reference(const Chunk& old, Bytes old_stored) {
  if (old.block_count() < 2 || !old.needs_reference(1)) return {};
  std::vector<std::uint8_t> reference(static_cast<std::size_t>(old.block_content(0).size));
  decode_block(old, old_stored, 0, {}, reference);
  return reference;
}

/// Returns the decoded contents of the whole chunk, with the changes.
std::vector<std::uint8_t> ChunkEncoder::merged_contents(const Chunk& old, Bytes old_stored,
                                                        Changes changes) {
  std::vector<std::uint8_t> contents(static_cast<std::size_t>(old.nbytes()));
  std::vector<std::uint8_t> reference;
  for (std::int32_t block = 0; block < old.block_count(); ++block) {
    const MutableBytes out = part_of(contents, old.block_content(block));
    if (const BlockUpdate* const change = changes[static_cast<std::size_t>(block)]) {
      std::memcpy(out.data(), change->contents.data(), out.size());
      continue;
    }
    const bool needs_reference = old.needs_reference(block);
    if (needs_reference && reference.empty()) reference = decode_reference(old, old_stored);
    decode_block(old, old_stored, block, needs_reference ? Bytes(reference) : Bytes(), out);
  }
  return contents;
}

/// Encodes the changed blocks, and copies the stored bytes of the others. Returns stored size 0 if
/// the chunk became too large.
EncodedSize ChunkEncoder::replace_blocks(const Chunk& old, Bytes old_stored, Changes changes,
                                         MutableBytes out) {
  const ChunkHeader& header = old.header();
  const std::vector<std::uint8_t> reference = decode_reference(old, old_stored);
  ChunkLayout layout(header, old.dictionary(), out);
  for (std::int32_t block = 0; block < old.block_count(); ++block) {
    const BlockUpdate* const change = changes[static_cast<std::size_t>(block)];
    std::size_t size = 0;
    if (change != nullptr) {
      const Bytes filtered =
          blocks_.filter(header, !old.needs_reference(block), reference, change->contents);
      size = blocks_.write_streams(header, filtered, old.dictionary(), layout.room());
    } else {
      const Bytes stored = stored_block(old, old_stored, block);
      if (stored.size() <= layout.room().size()) size = stored.size();
      if (size > 0) std::memcpy(layout.room().data(), stored.data(), size);
    }
    if (size == 0) return {};
    layout.end_block(size);
  }
  if (layout.is_zero()) return {SpecialValue::zero, 0};
  return {SpecialValue::none, layout.finish()};
}

EncodedSize ChunkEncoder::update_into(const Chunk& old, Bytes old_stored,
                                      std::span<const BlockUpdate> changed, MutableBytes out) {
  check_changes(old, old_stored, changed);
  if (old.header().has_block_starts()) {
    const std::vector<const BlockUpdate*> changes = by_block(old, changed);
    if (keeps_layout(old.header(), changes)) {
      const EncodedSize size = replace_blocks(old, old_stored, changes, out);
      if (size.special != SpecialValue::none || size.stored > 0) return size;
    }
    return encode_into(merged_contents(old, old_stored, changes), out);
  }
  std::vector<std::uint8_t> contents = plain_contents(old, old_stored);
  for (const BlockUpdate& change : changed) {
    const MutableBytes part = part_of(contents, old.block_content(change.block));
    std::memcpy(part.data(), change.contents.data(), part.size());
  }
  return encode_into(contents, out);
}

EncodedChunk ChunkEncoder::update(const Chunk& old, Bytes old_stored,
                                  std::span<const BlockUpdate> changed) {
  const MutableBytes out = buffer_of(static_cast<std::size_t>(old.nbytes()));
  return to_chunk(update_into(old, old_stored, changed, out));
}

}  // namespace bloscfs::codec
