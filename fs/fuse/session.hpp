#pragma once
// Mounts a filesystem and serves the kernel until it is unmounted.

#include "fs/fuse/session_settings.hpp"

namespace bloscfs::fs {

/// Returns when the mount has ended. Goes into the background once the mount works, unless told
/// otherwise. Throws whatever keeps the mount from working, with a message for the user that does
/// not name SOURCE: FileError where something else is at fault, like the mountpoint.
void run_session(SessionSettings settings);

}  // namespace bloscfs::fs
