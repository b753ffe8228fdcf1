#pragma once
// Chunks of special values with stored bytes, for where a frame's index cannot hold the value
// alone (frame/formats/cframe.md, "Chunks in a frame").

#include <cstdint>
#include <vector>

#include "codec/chunk_format.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline editing {

/// A chunk of `nbytes` (at least one) of zero, nan or uninit in items of the frame's size: the item
/// repeated or, for zeros that are no whole items, blocks of zeros.
std::vector<std::uint8_t> store_special(codec::SpecialValue value, std::int32_t nbytes,
                                        const FrameInfo& frame);

}  // namespace bloscfs::frame::inline editing
