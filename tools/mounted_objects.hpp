#pragma once
// A URL as the SOURCE of a mount.

#include "fs/fuse/session_settings.hpp"

namespace bloscfs::tools {

/// Sets how objects are reached where SOURCE is a URL. Throws with a message for the user.
void choose_objects(fs::SessionSettings& settings);

}  // namespace bloscfs::tools
