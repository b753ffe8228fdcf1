#pragma once
// Metalayers whose names have a meaning for this program, or for python-blosc2
// (frame/formats/metalayers.md, "Names").

#include <array>
#include <cstdint>
#include <string_view>

namespace bloscfs::frame::inline header {

/// The vlmetalayer that makes a flat frame an array (frame/header/packed_tensor.hpp).
inline constexpr char kPackedTensorLayer[] = "__pack_tensor__";

/// The fixed metalayer of an array whose elements are shown in Fortran order.
inline constexpr char kOrderLayer[] = "bloscfs.order";
/// Its content: the msgpack text F.
inline constexpr std::array<std::uint8_t, 2> kFortranOrder = {0xa1, 'F'};

/// The fixed metalayer of an EmbedStore of python-blosc2.
inline constexpr char kEmbedStoreLayer[] = "b2embed";

/// True for fixed metalayers that define what kind of object a frame is. Adding or removing one
/// would turn the frame into another kind of object.
bool defines_frame_kind(std::string_view metalayer);

/// True for vlmetalayers that describe the chunks of one frame and would be wrong in a copy.
bool is_bound_to_frame(std::string_view vlmetalayer);

}  // namespace bloscfs::frame::inline header
