#pragma once
// Finds chunks by their headers in a file whose index is damaged or missing.

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
  bool is_layer = false;  ///< content of a metalayer, according to the bytes before it
  Soundness soundness = Soundness::whole;

  std::uint64_t end() const { return at + static_cast<std::uint64_t>(cbytes); }
};

/// The sizes that a chunk may have if it does not decode wholly. 0: not known, and no chunk has it.
struct SearchRules {
  std::int32_t chunksize = 0;
  std::int32_t last_nbytes = 0;  ///< of a shorter last chunk

  bool has_size(std::int64_t nbytes) const {
    return nbytes > 0 && (nbytes == chunksize || nbytes == last_nbytes);
  }
};

/// A search ends early at this many chunks.
inline constexpr std::size_t kMaxFoundChunks = std::size_t{1} << 23;

/// Finds the chunks between two positions of a file, in order and without overlaps. Accepts a chunk
/// that decodes wholly, and does not search inside it. A chunk that does not decode wholly needs
/// valid header and block starts, and a size that the rules allow. Another chunk or `end` must
/// follow it directly, unless `end` cuts it off. Ends early when the effort is exhausted.
std::vector<FoundChunk> search_chunks(const ByteSource& source, std::uint64_t begin,
                                      std::uint64_t end, const SearchRules& rules,
                                      ChunkProbe& probe, const Effort& effort);

FoundChunk found_chunk(std::uint64_t at, const ChunkFacts& facts);

}  // namespace bloscfs::frame::inline repair
