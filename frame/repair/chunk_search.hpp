#pragma once
// Finds chunks by their headers in a file whose index is damaged or gone.

#include <cstdint>
#include <vector>

#include "frame/repair/chunk_probe.hpp"

namespace bloscfs::frame::inline repair {

struct FoundChunk {
  std::uint64_t at = 0;  ///< file position, or number of the chunk file
  std::int32_t nbytes = 0, cbytes = 0;
  std::int32_t blocksize = 0;
  std::uint8_t typesize = 0;
  bool vl_blocks = false;
  bool is_cut = false;    ///< the file ends before the chunk does
  bool is_layer = false;  ///< content of a metalayer, by what stands before it
  Soundness soundness = Soundness::whole;

  std::uint64_t end() const { return at + static_cast<std::uint64_t>(cbytes); }
};

/// Which sizes a chunk may have that does not decode wholly. 0: not known, and no chunk has it.
struct SearchRules {
  std::int32_t chunksize = 0;
  std::int32_t last_nbytes = 0;  ///< of a shorter last chunk

  bool has_size(std::int64_t nbytes) const {
    return nbytes > 0 && (nbytes == chunksize || nbytes == last_nbytes);
  }
};

/// A search ends early at so many.
inline constexpr std::size_t kMaxFoundChunks = std::size_t{1} << 23;

/// Chunks between two positions of a file, in order and without overlaps. One that decodes wholly
/// is taken for what it is, and not looked into. Of one that does not, header and block starts have
/// to be right, its size one of the rules, and another chunk, or `end`, right behind it, unless
/// `end` cuts it off. Ends early when the effort is exhausted.
std::vector<FoundChunk> search_chunks(const ByteSource& source, std::uint64_t begin,
                                      std::uint64_t end, const SearchRules& rules,
                                      ChunkProbe& probe, const Effort& effort);

FoundChunk found_chunk(std::uint64_t at, const ChunkFacts& facts);

}  // namespace bloscfs::frame::inline repair
