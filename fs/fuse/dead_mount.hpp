#pragma once
// Removes a mount whose daemon was killed before it could unmount.

#include <string>

namespace bloscfs::fs {

/// Unmounts `mountpoint` if it is a bloscfs whose daemon is gone, so that a new mount can use it.
/// Does nothing otherwise. Does not report failures: the next step of mounting fails then.
void remove_dead_mount(const std::string& mountpoint);

}  // namespace bloscfs::fs
