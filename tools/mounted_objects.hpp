#pragma once
// Mounts whose SOURCE is a URL.

#include "fs/fuse/session_settings.hpp"

namespace bloscfs::tools {

/// If SOURCE is a URL, sets how to access its objects. Throws with a message for the user.
void set_object_source(fs::SessionSettings& settings);

}  // namespace bloscfs::tools
