#pragma once
// Finds the chunks that a commit does not touch.

#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/editing/frame_edit.hpp"

namespace bloscfs::frame::inline cframe {

/// Most chunks that one commit moves.
inline constexpr std::size_t kMostKeptChunks = std::size_t{1} << 16;

struct KeptChunk {
  std::int64_t number = 0;
  std::int64_t entry = 0;
};

/// Returns the stored chunks that the edit does not touch and that begin at file position `from` or
/// later. The last one in the file comes first. Returns at most kMostKeptChunks, the last ones in
/// the file. Reads the whole index.
std::vector<KeptChunk> last_kept_chunks(const FrameEdit& edit, std::uint64_t from,
                                        codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline cframe
