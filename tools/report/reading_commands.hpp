#pragma once
// Command lines and lines of Python that read a frame.

#include <string>

#include "frame/container/frame_info.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns the commands for a sound frame. `file` is the name that the user gave: a path, a URL or
/// STORE:/KEY.
Markup reading_commands(const std::string& file, const frame::FrameInfo& info);

/// Returns the commands that examine and repair a damaged frame.
Markup repair_commands(const std::string& file);

}  // namespace bloscfs::tools
