#pragma once
// Mounts a filesystem and serves the kernel until it is unmounted.

#include <string>

#include "fs/fuse/session_settings.hpp"

namespace bloscfs::fs {

/// Returns when the mount has ended. Goes into the background once the mount works, unless
/// `settings` say otherwise. Throws if the mount cannot work, with a message for the user that does
/// not name SOURCE. Throws FileError if another path is at fault, such as the mountpoint.
void run_session(SessionSettings settings);

/// Returns the absolute path of a mountpoint, without symlinks. Throws FileError if it is not a
/// directory.
std::string require_mountpoint(const std::string& path);

/// Throws what run_session() would throw if a SOURCE of files, the mountpoint, or the option rescue
/// cannot be used together. Mounts nothing.
void check_file_source(const SessionSettings& settings);

}  // namespace bloscfs::fs
