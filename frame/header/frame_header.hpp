#pragma once
// The fixed part of a frame's header, in both layouts, as checked values.

#include <cstdint>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline header {

struct FrameHeader {
  FrameInfo info;      ///< without trailer and array, and without nchunks of variable-size frames
  bool early = false;  ///< the 13-element layout of C-Blosc2 before 2.0
  std::uint8_t frame_type = 0;  ///< 0 contiguous, 1 sparse
  bool has_vlmetalayers = false;
  int offset_width = 8;            ///< bytes of an index entry
  std::int64_t metalayers_at = 0;  ///< where a metalayer section starts
};

/// True if the bytes start with the magic of either layout.
bool has_frame_magic(codec::Bytes first_bytes);

/// Parses the first bytes of a header: sizeof(RawFrameHeader), or all of a shorter file. Checks all
/// rules for single fields in frame/formats/cframe.md, "Header". Throws Error: malformed, naming
/// the field, or unsupported for a future version.
FrameHeader parse_frame_header(codec::Bytes first_bytes);

/// Returns the number of chunks of a fixed-size frame. Throws Error for an impossible number.
std::int64_t count_chunks(std::int64_t nbytes, std::int32_t chunksize);

}  // namespace bloscfs::frame::inline header
