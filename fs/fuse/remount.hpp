#pragma once
// mount -o remount: changes the flags of a mount that is there.

#include <string>
#include <vector>

#include <sys/ioctl.h>

namespace bloscfs::fs {

/// An ioctl of the mount's root, for root and the daemon's user: commits everything. EROFS if the
/// daemon serves a mount that was read-only from the start.
inline constexpr unsigned kCommitRequest = _IO('b', 0x62);

/// Gives the mount those of `options`, as in mount(8), that are flags of every filesystem; all else
/// stays as it is. What was written is committed when it returns from making the mount read-only.
/// Throws std::system_error (EBUSY while files are open for writing), std::invalid_argument where
/// no bloscfs is mounted, or one that cannot write; neither names the mountpoint.
void remount(const std::string& mountpoint, const std::vector<std::string>& options);

}  // namespace bloscfs::fs
