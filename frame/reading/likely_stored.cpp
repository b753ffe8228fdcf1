#include "frame/reading/likely_stored.hpp"

#include <algorithm>

namespace bloscfs::frame::inline reading {
namespace {

/// A chunk or a table of at most this size is requested as a whole.
constexpr std::int64_t kSmallStored = std::int64_t{256} << 10;
/// Margins, because some blocks take more bytes than others.
constexpr std::int64_t kChunkMargin = std::int64_t{64} << 10, kPageMargin = std::int64_t{24} << 10;
/// Header and block starts of most tables fit into this.
constexpr std::int64_t kTableStart = 4096;

/// Scales `part` of `whole` to `size`. `whole` is greater than 0.
std::int64_t scaled(std::int64_t part, std::int64_t whole, std::int64_t size) {
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<std::int64_t>(static_cast<double>(size) * std::clamp(share, 0.0, 1.0));
}

/// Returns [begin, end) of a chunk of `size` bytes at `position`, clipped to the chunk.
ByteRange range_of_chunk(std::uint64_t position, std::int64_t size, std::int64_t begin,
                         std::int64_t end) {
  begin = std::clamp<std::int64_t>(begin, 0, size);
  end = std::clamp<std::int64_t>(end, begin, size);
  return {static_cast<std::int64_t>(position) + begin, end - begin};
}

}  // namespace

std::vector<ByteRange> likely_stored(const UnopenedChunk& chunk, const ByteRange& content) {
  const ChunkPlace& place = chunk.place;
  const std::int64_t size = chunk.stored_size;
  if (size <= kSmallStored || place.nbytes <= 0)
    return {range_of_chunk(place.stored_offset, size, 0, size)};
  const std::int64_t block = std::max(chunk.blocksize, 1);
  const std::int64_t first = content.offset / block * block;
  const std::int64_t last = (content.offset + content.size + block - 1) / block * block;
  return {
      range_of_chunk(place.stored_offset, size, 0, static_cast<std::int64_t>(chunk.first_read)),
      range_of_chunk(place.stored_offset, size, scaled(first, place.nbytes, size) - kChunkMargin,
                     scaled(last, place.nbytes, size) + kChunkMargin)};
}

std::vector<ByteRange> likely_page(std::uint64_t position, std::int64_t stored_size,
                                   std::int64_t part, std::int64_t whole) {
  if (stored_size <= kSmallStored || whole <= 0)
    return {range_of_chunk(position, stored_size, 0, std::min(stored_size, kSmallStored))};
  const std::int64_t at = scaled(part, whole, stored_size);
  return {range_of_chunk(position, stored_size, 0, kTableStart),
          range_of_chunk(position, stored_size, at - kPageMargin, at + kPageMargin)};
}

}  // namespace bloscfs::frame::inline reading
