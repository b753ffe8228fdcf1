#pragma once
// Runs of blocks that are decoded and cached as one, because a chunk may have millions of tiny
// blocks.

#include <cstdint>

#include "codec/chunk.hpp"

namespace bloscfs::fs {

/// The offset of the first byte behind a range.
inline std::int64_t end_of(const codec::ByteRange& range) { return range.offset + range.size; }

/// The size of a memory page. The kernel asks for whole pages, so a smaller block is never wanted
/// alone.
inline constexpr std::int64_t kRunSize = 4096;

/// The blocks of a chunk that begin within the same kRunSize bytes of its contents. This is a
/// single block unless blocks are smaller than that.
struct BlockRun {
  std::int32_t first = 0;
  std::int32_t last = 0;     ///< inclusive
  codec::ByteRange content;  ///< of all of them, in the chunk's contents
  codec::ByteRange stored;   ///< where they are stored, including gaps between them

  std::int32_t count() const { return last - first + 1; }
};

/// Returns the run that holds `chunk_offset`, which must lie inside the contents. The chunk must
/// not be special.
BlockRun block_run_at(const codec::Chunk& chunk, std::int64_t chunk_offset);

}  // namespace bloscfs::fs
