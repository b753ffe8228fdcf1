#pragma once
// The fixed part of a frame's header, in both layouts, as values that have been checked.

#include <cstdint>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline header {

struct FrameHeader {
  FrameInfo info;               ///< without nchunks of variable-size frames, trailer and array
  bool early = false;           ///< the 13-element layout of before 2.0
  std::uint8_t frame_type = 0;  ///< 0 contiguous, 1 sparse
  bool has_vlmetalayers = false;
  int offset_width = 8;            ///< bytes of an index entry
  std::int64_t metalayers_at = 0;  ///< where the metalayer section would start
};

/// True if the bytes start with the magic of either layout.
bool has_frame_magic(codec::Bytes first_bytes);

/// Parses the header's first bytes (sizeof(RawFrameHeader), or all of a shorter file).
/// Throws Error: malformed, naming the field, or unsupported for a future version.
/// Checks all that frame/formats/cframe.md, "Header", says of single fields.
FrameHeader parse_frame_header(codec::Bytes first_bytes);

/// Number of chunks of a fixed-size frame.
std::int64_t count_chunks(std::int64_t nbytes, std::int32_t chunksize);

}  // namespace bloscfs::frame::inline header
