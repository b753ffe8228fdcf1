#pragma once
// mount -o remount: changes a mount that is there.

#include <array>
#include <string>

#include <sys/ioctl.h>

#include "fs/options/options.hpp"

namespace bloscfs::fs {

// ioctls of the mount's root, for root and the daemon's user.

/// Commits everything. EROFS if the daemon serves a mount that was read-only from the start.
inline constexpr unsigned kCommitRequest = _IO('b', 0x62);
/// Takes over options of bloscfs, separated by commas, with a zero byte behind them. EINVAL for
/// what change_running() refuses.
using ChangeText = std::array<char, 4096>;
inline constexpr unsigned kChangeRequest = _IOW('b', 0x63, ChangeText);

/// Gives a mount what `options` has of the flags of every filesystem, which only root may, and of
/// what change_running() knows; all else stays as it is. What was written is committed when it
/// returns from making the mount read-only. Throws std::system_error, std::invalid_argument and
/// std::runtime_error with a message for the user: where no bloscfs is mounted, or one that cannot
/// write, for options that cannot be changed, while files are open for writing. None names the
/// mountpoint. To be called while there are no other threads.
void remount(const std::string& mountpoint, const MountOptions& options);

}  // namespace bloscfs::fs
