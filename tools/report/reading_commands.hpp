#pragma once
// Command lines, and lines of Python, that read a frame.

#include <string>

#include "frame/container/frame_info.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Of a frame that is sound. `file` is as it was named: a path, a URL or STORE:/KEY.
Markup reading_commands(const std::string& file, const frame::FrameInfo& info);

/// Of one that is not: what tells more, and what brings back the rest.
Markup repair_commands(const std::string& file);

}  // namespace bloscfs::tools
