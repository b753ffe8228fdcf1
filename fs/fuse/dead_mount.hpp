#pragma once
// What a daemon that was killed, and had nobody to unmount for it, has left.

#include <string>

namespace bloscfs::fs {

/// Unmounts what is mounted at `mountpoint` where that is a bloscfs whose daemon is gone, so that
/// the place can be mounted on again. Does nothing else, and fails silently: the next step tells.
void remove_dead_mount(const std::string& mountpoint);

}  // namespace bloscfs::fs
