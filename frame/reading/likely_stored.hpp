#pragma once
// Guesses where stored bytes are before a chunk is opened. A remote source can then be asked for
// all of them in one round trip.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline reading {

/// Facts about a chunk that are known before it is opened.
struct UnopenedChunk {
  ChunkPlace place;
  std::int64_t stored_size = 0;  ///< a guess
  std::int32_t blocksize = 0;    ///< 0: not known
  std::size_t first_read = 0;    ///< bytes that opening the chunk reads at its beginning
};

/// Returns the ranges of the file that reading `content` of the chunk needs. A small chunk is one
/// range. Otherwise the ranges are its beginning, and where the blocks would be if all had the same
/// stored size.
std::vector<ByteRange> likely_stored(const UnopenedChunk& chunk, const ByteRange& content);

/// Returns the ranges for a page of a table of `stored_size` bytes at `position`: its header, and
/// the part of the table at `part` of `whole`.
std::vector<ByteRange> likely_page(std::uint64_t position, std::int64_t stored_size,
                                   std::int64_t part, std::int64_t whole);

}  // namespace bloscfs::frame::inline reading
