#pragma once
// Frames that do not exist yet: what their settings make of header and metalayers.

#include <cstdint>
#include <vector>

#include "frame/container/frame_writer.hpp"
#include "frame/header/frame_header_writer.hpp"

namespace bloscfs::frame::inline editing {

struct NewFrame {
  FrameInfo info;  ///< of the first state, all chunks zero
  bool checksums = false;
  std::vector<Metalayer> metalayers;  ///< of arrays, b2nd is the first
};

/// Throws std::system_error(EINVAL) for impossible settings.
NewFrame plan_frame(const FrameSettings& settings, ContainerKind kind);

/// The header of that frame in the state that `info` tells.
std::vector<std::uint8_t> first_header(const NewFrame& frame, const FrameInfo& info,
                                       bool has_vlmetalayers);

}  // namespace bloscfs::frame::inline editing
