#pragma once
// Metalayers whose names mean something to this program, or to python-blosc2
// (frame/formats/metalayers.md, "Names").

#include <array>
#include <cstdint>
#include <string_view>

namespace bloscfs::frame::inline header {

/// The vlmetalayer that makes a flat frame an array (frame/header/packed_tensor.hpp).
inline constexpr char kPackedTensorLayer[] = "__pack_tensor__";

/// The fixed metalayer of an array whose elements are shown in Fortran order.
inline constexpr char kOrderLayer[] = "bloscfs.order";
/// Its content: msgpack's text F.
inline constexpr std::array<std::uint8_t, 2> kFortranOrder = {0xa1, 'F'};

/// The fixed metalayer of an EmbedStore of python-blosc2.
inline constexpr char kEmbedStoreLayer[] = "b2embed";

/// True for fixed metalayers that say what kind of object a frame is: a frame that is given one, or
/// loses it, is another thing.
bool says_what_it_is(std::string_view metalayer);

/// True for vlmetalayers that hold for the chunks of one frame, and would be false of a copy.
bool holds_for_one_frame(std::string_view vlmetalayer);

}  // namespace bloscfs::frame::inline header
