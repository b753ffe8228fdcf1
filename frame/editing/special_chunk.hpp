#pragma once
// Stored chunks of special values, for places where an index entry cannot hold the value
// (frame/formats/cframe.md, "Chunks in a frame").

#include <cstdint>
#include <vector>

#include "codec/chunk_format.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline editing {

/// Returns a chunk of `nbytes` (at least one) of zero, nan or uninit, in items of the frame's size.
/// The chunk repeats one item, which is zero for uninit. If zeros end within an item, it consists
/// of blocks of zeros.
std::vector<std::uint8_t> store_special(codec::SpecialValue value, std::int32_t nbytes,
                                        const FrameInfo& frame);

}  // namespace bloscfs::frame::inline editing
