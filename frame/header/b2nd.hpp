#pragma once
// The b2nd metalayer. Pure: no I/O.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline header {

/// What the metalayer can describe (frame/formats/b2nd.md). C-Blosc2 before 2.21.3 opens no arrays
/// of more than 8 dimensions, but their chunks as it does a flat frame's.
inline constexpr std::size_t kMaxB2ndDimensions = 16;

/// Parses a `b2nd` (or `caterva`) metalayer and checks it against the frame that holds it:
/// typesize, chunksize, blocksize and nbytes must be those that the shapes imply.
/// Throws Error naming the field.
ArrayInfo parse_b2nd(codec::Bytes metalayer, const FrameInfo& frame);

/// The same, compared with no frame. Throws Error for what is no such metalayer.
ArrayInfo parse_b2nd_shapes(codec::Bytes metalayer);

/// What the shapes of an array imply for the frame that holds it.
struct ArraySizes {
  std::int64_t chunksize = 0;  ///< bytes of a chunk, its padding included
  std::int64_t blocksize = 0;
  std::int64_t nbytes = 0;  ///< of all chunks; 0 when a dimension is
};

/// Throws Error, naming the field, for shapes that contradict each other or are too large.
ArraySizes array_sizes(const ArrayInfo& array, std::int32_t typesize);

/// The b2nd metalayer of an array (frame/formats/b2nd.md, "Metalayer").
std::vector<std::uint8_t> serialize_b2nd(const ArrayInfo& array);

}  // namespace bloscfs::frame::inline header
