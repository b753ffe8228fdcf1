#pragma once
// Changes frames in place.

#include <functional>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::tools {

/// Runs `edit` on the frame `name`, a path or STORE:/KEY in a directory, and locks out mounts for
/// writing while it does. If another program changes the frame at the same time, runs `edit` again
/// on the new state. First waits until the daemon of a mount that was just unmounted has stored its
/// last changes. Throws Error, also for a read-only format, std::system_error, and
/// std::runtime_error if the frame is mounted for writing.
void edit_frame(const std::string& name, const std::function<void(frame::FrameWriter&)>& edit);

}  // namespace bloscfs::tools
