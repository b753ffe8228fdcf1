#pragma once
// What is mounted where, as the kernel tells it: no filesystem is asked.

#include <optional>
#include <string>
#include <vector>

namespace bloscfs::fs {

struct MountEntry {
  unsigned major = 0, minor = 0;  ///< the device's
  std::string path;               ///< absolute
};

/// The mount that is uppermost exactly at an absolute path without symlinks.
std::optional<MountEntry> mount_at(const std::string& path);
/// Mounts below such a path, which is not one of them.
std::vector<MountEntry> mounts_below(const std::string& path);

}  // namespace bloscfs::fs
