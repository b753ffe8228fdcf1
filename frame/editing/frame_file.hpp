#pragma once
// Writes parts of a new frame file from a committed state.

#include <cstdint>
#include <vector>

#include "frame/editing/frame_space.hpp"
#include "frame/editing/frame_tail.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline editing {

/// Returns the length of the header that a committed frame has after `edit`.
std::int64_t header_len_after(const FrameEdit& edit);

/// Writes the header that a committed frame has after `edit` to the start of `file`, with the
/// fields from `info`, whose header_len must be right. Returns the part of the header that
/// snapshots keep.
std::vector<std::uint8_t> write_header_after(const FrameEdit& edit, const FrameInfo& info,
                                             bool has_vlmetalayers, StoreFile& file);

/// Writes the trailer of a frame without contents behind a header of `header_len` bytes, where
/// readers look for it. Writes it again at the end if the frame needs a new length
/// (frame/formats/cframe.md, "Trailer"). Returns the frame's length.
std::uint64_t write_empty_trailer(FrameTail& tail, StoreFile& file, std::uint64_t header_len,
                                  const FrameLengths& lengths);

}  // namespace bloscfs::frame::inline editing
