#pragma once
// The b2nd metalayer. Pure: no I/O.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline header {

/// Most dimensions that the metalayer can describe (frame/formats/b2nd.md). C-Blosc2 before 2.21.3
/// cannot open arrays of more than 8 dimensions, but reads their chunks as those of a flat frame.
inline constexpr std::size_t kMaxB2ndDimensions = 16;

/// Parses a `b2nd` (or `caterva`) metalayer and checks it against its frame. typesize, chunksize,
/// blocksize and nbytes must match the shapes. Throws Error, naming the field.
ArrayInfo parse_b2nd(codec::Bytes metalayer, const FrameInfo& frame);

/// Parses the metalayer without comparing it to a frame. Throws Error if it is malformed.
ArrayInfo parse_b2nd_shapes(codec::Bytes metalayer);

/// The sizes that a frame must have to hold an array of some shapes.
struct ArraySizes {
  std::int64_t chunksize = 0;  ///< bytes of a chunk, including its padding
  std::int64_t blocksize = 0;
  std::int64_t nbytes = 0;  ///< of all chunks; 0 if a dimension is 0
};

/// Throws Error, naming the field, for shapes that contradict each other or are too large.
ArraySizes array_sizes(const ArrayInfo& array, std::int32_t typesize);

/// Returns the b2nd metalayer of an array (frame/formats/b2nd.md, "Metalayer").
std::vector<std::uint8_t> serialize_b2nd(const ArrayInfo& array);

}  // namespace bloscfs::frame::inline header
