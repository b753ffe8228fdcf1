#pragma once
// mount -o remount: changes an existing mount.

#include <array>
#include <string>

#include <sys/ioctl.h>

#include "fs/options/options.hpp"

namespace bloscfs::fs {

// ioctls of the mount's root, for root and the daemon's user.

/// Commits everything. Fails with EROFS if the mount was read-only from the start.
inline constexpr unsigned kCommitRequest = _IO('b', 0x62);
/// Tells the daemon that `bloscfs --unmount` unmounts now, or that its unmount was refused. Only
/// the log uses this.
inline constexpr unsigned kUnmountBegins = _IO('b', 0x64);
inline constexpr unsigned kUnmountRefused = _IO('b', 0x65);
/// Changes options of bloscfs, and logs the remount. The text is a comma-separated list with a zero
/// byte at its end. It also names the flags that the remount asks for, such as "ro".
/// Fails with EINVAL if change_running() refuses the change: a running mount cannot change the
/// option, or the value is invalid.
using ChangeText = std::array<char, 4096>;
inline constexpr unsigned kChangeRequest = _IOW('b', 0x63, ChangeText);

/// Changes an existing mount. Applies flags that every filesystem has, which only root may change,
/// and the options that change_running() supports. Leaves all else as it is. If the mount becomes
/// read-only, everything is committed on return. To be called while there are no other threads.
///
/// Throws std::system_error, std::invalid_argument, or std::runtime_error with a message for the
/// user, which does not name the mountpoint:
/// - if no bloscfs is mounted there, or it is a mount of another user
/// - if an option cannot be changed
/// - if files are open for writing, and the mount should become read-only
/// - if a file could not be committed
/// - if the mount should become writable, and was read-only from the start
void remount(const std::string& mountpoint, const MountOptions& options);

}  // namespace bloscfs::fs
