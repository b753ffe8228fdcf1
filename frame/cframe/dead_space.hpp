#pragma once
// Finds the space that earlier commits to a contiguous frame have left unused.

#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/editing/extent_set.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline cframe {

struct DeadSpace {
  std::vector<Extent> extents;      ///< byte ranges without a chunk, in ascending order
  std::uint64_t largest_chunk = 0;  ///< stored bytes, among the chunks that were looked at
  /// All chunks were looked at, and no byte belongs to two of them.
  bool chunks_are_apart = false;
};

/// Looks for bytes without a chunk between `from` and the frame's tail. Reads the index once, and
/// at most 1024 chunk headers. If there are more chunks, reads the headers next to the widest gaps.
/// Never reports a byte that a chunk may use, whatever program wrote the frame. Throws Error for a
/// bad index.
DeadSpace find_dead_space(const FrameSnapshot& frame, std::uint64_t from,
                          codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline cframe
