#pragma once
// Where stored bytes probably are, before anybody has looked: what a source far away is asked for
// in one go, rather than step by step.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline reading {

/// What is known of a chunk that nobody has opened.
struct UnopenedChunk {
  ChunkPlace place;
  std::int64_t stored_size = 0;  ///< probably
  std::int32_t blocksize = 0;    ///< 0: not known
  std::size_t first_read = 0;    ///< bytes that opening it reads at its beginning
};

/// Ranges of the file that reading `content` of the chunk needs: a small chunk as a whole, else its
/// beginning, and where the blocks would be if all were of one stored size.
std::vector<ByteRange> likely_stored(const UnopenedChunk& chunk, const ByteRange& content);

/// The same for a page of a table of `stored_size` bytes at `position`, from its header on; the
/// page is behind `part` of `whole`.
std::vector<ByteRange> likely_page(std::uint64_t position, std::int64_t stored_size,
                                   std::int64_t part, std::int64_t whole);

}  // namespace bloscfs::frame::inline reading
