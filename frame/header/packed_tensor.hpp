#pragma once
// Arrays that python-blosc2's save_array(), save_tensor() and pack_tensor() write: flat frames with
// shape and dtype in a vlmetalayer (frame/formats/metalayers.md, "Names").

#include <cstdint>
#include <optional>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline header {

/// No content that has a shape and a dtype of NumPy is longer, in bytes.
inline constexpr std::size_t kMaxPackedTensor = 4096;

/// Shape and dtype from the content of kPackedTensorLayer; nullopt where it says neither, or where
/// `nbytes` is no multiple of the number of items that the shape has.
std::optional<ArrayInfo> parse_packed_tensor(codec::Bytes content, std::int64_t nbytes);

}  // namespace bloscfs::frame::inline header
