#include "fs/view/read_hints.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "fs/view/block_run.hpp"

namespace bloscfs::fs {
namespace {

/// The most ranges that are under way for one request. More would take too long to arrive.
constexpr std::size_t kMostRanges = 256;
/// The most ranges that one request asks for ahead of a reader.
constexpr std::size_t kMostLater = 448;

}  // namespace

void ReadHints::add(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
                    ReadRequest& request) {
  if (place.special != codec::SpecialValue::none || ranges_.size() >= kMostRanges) return;
  const CacheKey key = source_->key(CacheKind::opened_chunk, place.number);
  if (!source_->is_tiny(place))
    if (const auto opened = source_->cache().find<frame::OpenedChunk>(key, Purpose::read))
      return add_blocks(*opened, chunk_offset, size);
  // The chunk is not open, so where its blocks lie is a guess.
  const std::optional<frame::ChunkPlace> next = index_.known_place(place.number + 1, request);
  const auto likely =
      source_->snapshot().likely_stored(place, next ? &*next : nullptr, {chunk_offset, size});
  ranges_.insert(ranges_.end(), likely.begin(), likely.end());
}

void ReadHints::add_blocks(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                           std::int64_t size) {
  const std::int64_t end = std::min<std::int64_t>(chunk_offset + size, opened.chunk.nbytes());
  if (opened.chunk.header().is_special()) return;
  while (chunk_offset < end && ranges_.size() < kMostRanges) {
    const BlockRun run = block_run_at(opened.chunk, chunk_offset);
    chunk_offset = end_of(run.content);
    if (!source_->cache().lacks(source_->key(CacheKind::block, opened.place.number, run.first)))
      continue;
    if (const auto stored = source_->snapshot().stored_at(opened, run.stored))
      ranges_.push_back(*stored);
  }
}

void ReadHints::add_later(const frame::ChunkPlace& place) {
  if (place.special != codec::SpecialValue::none || later_.size() >= kMostLater) return;
  if (!source_->is_tiny(place) &&
      !source_->cache().lacks(source_->key(CacheKind::opened_chunk, place.number)))
    return;
  for (const frame::StoredRange& part :
       source_->snapshot().likely_stored(place, nullptr, {0, place.nbytes}))
    later_.push_back(part);
}

bool ReadHints::send() {
  const auto ranges = std::exchange(ranges_, {}), later = std::exchange(later_, {});
  const frame::Snapshot& snapshot = source_->snapshot();
  if (!ranges.empty()) snapshot.expect(ranges);
  if (!later.empty()) snapshot.expect(later);
  return ranges.empty() || snapshot.is_available(ranges);
}

}  // namespace bloscfs::fs
