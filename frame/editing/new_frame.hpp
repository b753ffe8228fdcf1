#pragma once
// Plans the header and metalayers of new frames from their settings.

#include <cstdint>
#include <vector>

#include "frame/container/frame_writer.hpp"
#include "frame/header/frame_header_writer.hpp"

namespace bloscfs::frame::inline editing {

struct NewFrame {
  FrameInfo info;  ///< the first state, in which all chunks are zero
  bool checksums = false;
  std::vector<Metalayer> metalayers;  ///< of an array, b2nd comes first
};

/// Throws std::system_error(EINVAL) for impossible settings.
NewFrame plan_frame(const FrameSettings& settings, ContainerKind kind);

/// Returns the header of the frame in the state `info`.
std::vector<std::uint8_t> first_header(const NewFrame& frame, const FrameInfo& info,
                                       bool has_vlmetalayers);

}  // namespace bloscfs::frame::inline editing
