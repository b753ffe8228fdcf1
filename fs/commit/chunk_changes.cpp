#include "fs/commit/chunk_changes.hpp"

#include <algorithm>
#include <cstring>

namespace bloscfs::fs {

codec::ByteRange FlatCut::range(std::int64_t chunk) const {
  return {chunk * chunksize, std::min(chunksize, size - chunk * chunksize)};
}

std::optional<std::int64_t> FlatCut::chunk_within_item() const {
  const std::int64_t last = codec::ceil_div(size, chunksize) - 1;
  return last >= 0 && range(last).size % typesize != 0 ? std::optional(last) : std::nullopt;
}

std::set<std::int64_t> written_chunks(const ByteOverlay& written, const FlatCut& cut) {
  std::set<std::int64_t> chunks;
  written.for_each(0, cut.size, [&](const ByteOverlay::Part& part) {
    if (part.bytes == nullptr) return;
    const std::int64_t last = (part.offset + part.size - 1) / cut.chunksize;
    for (std::int64_t chunk = part.offset / cut.chunksize; chunk <= last; chunk++)
      chunks.insert(chunk);
  });
  return chunks;
}

std::set<std::int64_t> resized_chunks(const FlatCut& cut, std::int64_t kept,
                                      std::int64_t old_size) {
  std::set<std::int64_t> chunks;
  if (kept >= old_size && kept >= cut.size) return chunks;
  // The chunk in which the kept bytes end gets another size, or loses bytes.
  if (kept % cut.chunksize != 0) chunks.insert(kept / cut.chunksize);
  if (const auto last = cut.chunk_within_item()) chunks.insert(*last);
  return chunks;
}

ChunkChanges changes_of_range(const ByteOverlay& written, const codec::ByteRange& range) {
  ChunkChanges changes;
  written.for_each(range.offset, range.size, [&](const ByteOverlay::Part& part) {
    changes.push_back({part.offset - range.offset, part.size, part.bytes});
  });
  return changes;
}

std::map<std::int64_t, ChunkChanges> changes_of_array(const frame::ArrayGeometry& geometry,
                                                      const Layer& layer, std::int64_t header_size,
                                                      std::int64_t size, std::int64_t old_size) {
  std::map<std::int64_t, ChunkChanges> by_chunk;
  const auto add = [&](const ByteOverlay::Part& part) {
    geometry.for_each_block(
        part.offset - header_size, part.size, [&](const frame::ArrayGeometry::BlockPart& block) {
          ChunkChanges& changes = by_chunk[block.chunk];
          block.for_each_run([&](const frame::ArrayGeometry::Run& run) {
            const std::int64_t at = run.array_offset + header_size - part.offset;
            changes.push_back({block.chunk_offset + run.in_block, run.length,
                               part.bytes == nullptr ? nullptr : part.bytes + at});
          });
        });
  };
  // Elements that were cut off and came back read as zeros. Newer writes lie over these zeros.
  const std::int64_t kept = std::max(header_size, layer.lower_end);
  const std::int64_t end = std::min(size, old_size);
  if (kept < end) add({kept, end - kept, nullptr});
  layer.bytes.for_each(header_size, size - header_size, add);
  return by_chunk;
}

void apply_changes(const ChunkChanges& changes, std::int64_t chunk_offset,
                   codec::MutableBytes out) {
  const std::int64_t out_end = chunk_offset + std::ssize(out);
  for (const ChunkChange& change : changes) {
    const std::int64_t begin = std::max(chunk_offset, change.chunk_offset);
    const std::int64_t end = std::min(out_end, change.chunk_offset + change.size);
    if (begin >= end) continue;
    std::uint8_t* const target = out.data() + (begin - chunk_offset);
    const auto size = static_cast<std::size_t>(end - begin);
    if (change.bytes == nullptr)
      std::memset(target, 0, size);
    else
      std::memcpy(target, change.bytes + (begin - change.chunk_offset), size);
  }
}

}  // namespace bloscfs::fs
