#pragma once
// Finds chunks by their headers in a file whose index is damaged or gone.

#include <cstdint>
#include <vector>

#include "frame/repair/chunk_probe.hpp"

namespace bloscfs::frame {

struct FoundChunk {
  std::uint64_t at = 0;  ///< file position, or number of the chunk file
  std::int32_t nbytes = 0, cbytes = 0;
  std::int32_t blocksize = 0;
  std::uint8_t typesize = 0;
  bool vl_blocks = false;
  bool is_layer = false;  ///< content of a metalayer, by what stands before it
  Soundness soundness = Soundness::whole;

  std::uint64_t end() const { return at + static_cast<std::uint64_t>(cbytes); }
};

/// What a chunk must be like that does not decode wholly; 0: not known, and then none is taken.
struct SearchRules {
  std::int32_t chunksize = 0;
};

/// A search ends early at so many.
inline constexpr std::size_t kMaxFoundChunks = std::size_t{1} << 23;

/// Chunks between two positions of a file, in order and without overlaps. One that decodes wholly
/// is taken for what it is, and not looked into. Of one that does not, header and block starts have
/// to be right, its size that of the rules, and another chunk, or `end`, right behind it. Ends
/// early when the effort is exhausted.
std::vector<FoundChunk> search_chunks(const ByteSource& source, std::uint64_t begin,
                                      std::uint64_t end, const SearchRules& rules,
                                      ChunkProbe& probe, const Effort& effort);

FoundChunk found_chunk(std::uint64_t at, const ChunkFacts& facts);

}  // namespace bloscfs::frame
