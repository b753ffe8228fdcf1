#pragma once
// Frames that b2frame changes in place.

#include <functional>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::tools {

/// Runs `edit` on the frame at `path`, which nobody mounts for writing meanwhile: again, on what it
/// is then, where another program has changed it. Waits until a mount of it that has ended is done
/// with it. Throws Error, also for what can only be read, std::system_error, and std::runtime_error
/// when it is mounted for writing.
void edit_frame(const std::string& path, const std::function<void(frame::FrameWriter&)>& edit);

}  // namespace bloscfs::tools
