#pragma once
// Which bloscfs this is.

#include <string>

namespace bloscfs::tools {

/// The release, and for a build from git the commit: "0.2.0 (1a2b3c4d)".
std::string version_text();

}  // namespace bloscfs::tools
