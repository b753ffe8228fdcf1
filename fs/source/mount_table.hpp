#pragma once
// What is mounted, as the kernel tells this process.

#include <optional>
#include <string>
#include <vector>

namespace bloscfs::fs {

struct MountEntry {
  std::string device;  ///< the kernel's number: "0:57"
  std::string point;
  std::string type;  ///< such as "fuse.bloscfs"
  std::string source;
  bool read_only = false;
};

/// In the order in which they were mounted; empty where /proc cannot be read.
std::vector<MountEntry> mount_table();

/// What is mounted below a directory, which is given as an absolute path: paths from there.
std::vector<std::string> mount_points_below(const std::string& directory);

/// The first bloscfs mount of `source`, by whatever path it was mounted; only of those that can
/// write if `writable`. A mount in another namespace is not seen.
std::optional<MountEntry> find_bloscfs_mount(const std::string& source, bool writable = false);

}  // namespace bloscfs::fs
