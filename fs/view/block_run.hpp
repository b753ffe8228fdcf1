#pragma once
// Blocks that are decoded and kept as one: a chunk may consist of millions of tiny ones.

#include <cstdint>

#include "codec/chunk.hpp"

namespace bloscfs::fs {

/// The first byte behind a range.
inline std::int64_t end_of(const codec::ByteRange& range) { return range.offset + range.size; }

/// Blocks smaller than a page are never wanted alone.
inline constexpr std::int64_t kRunSize = 4096;

/// The blocks of a chunk that begin within the same kRunSize bytes of its contents: a single one
/// unless blocks are smaller than that.
struct BlockRun {
  std::int32_t first = 0;
  std::int32_t last = 0;     ///< inclusive
  codec::ByteRange content;  ///< of all of them, in the chunk's contents
  codec::ByteRange stored;   ///< where they are stored, with what lies between them

  std::int32_t count() const { return last - first + 1; }
};

/// The run that holds `chunk_offset`, which lies inside the contents. Not for special chunks.
BlockRun block_run_at(const codec::Chunk& chunk, std::int64_t chunk_offset);

}  // namespace bloscfs::fs
