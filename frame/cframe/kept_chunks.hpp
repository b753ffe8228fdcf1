#pragma once
// Chunks that a commit leaves where they are.

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

/// Stored chunks that an edit does not touch and that begin at file position `from` or later: the
/// last one in the file comes first. Of more than kMostKeptChunks, those that come first. Reads the
/// whole index.
std::vector<KeptChunk> last_kept_chunks(const FrameEdit& edit, std::uint64_t from,
                                        codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline cframe
