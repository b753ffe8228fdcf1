#pragma once
// The version of this program.

#include <string>

namespace bloscfs::tools {

/// Returns the release, and the commit if it was built from git: "0.2.0 (1a2b3c4d)".
std::string version_text();

}  // namespace bloscfs::tools
