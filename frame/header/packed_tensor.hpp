#pragma once
// Arrays that python-blosc2's save_array(), save_tensor() and pack_tensor() write: flat frames with
// shape and dtype in a vlmetalayer (frame/formats/metalayers.md, "Names").

#include <cstdint>
#include <optional>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline header {

/// Most bytes of the vlmetalayer. A shape and a dtype of NumPy always take less.
inline constexpr std::size_t kMaxPackedTensor = 4096;

/// Returns shape and dtype from the content of kPackedTensorLayer. Returns nullopt if the content
/// has none, or if `nbytes` is not a multiple of the shape's number of items.
std::optional<ArrayInfo> parse_packed_tensor(codec::Bytes content, std::int64_t nbytes);

}  // namespace bloscfs::frame::inline header
