#pragma once
// What is mounted, as the kernel tells this process.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bloscfs::fs {

struct MountEntry {
  int id = 0;          ///< as /proc/PID/fdinfo has it
  std::string device;  ///< the kernel's number: "0:57"
  std::string point;
  std::string type;  ///< such as "fuse.bloscfs"
  std::string source;
  std::vector<std::string> flags;  ///< of the mount, as in mount(8)
  bool read_only = false;
  std::vector<std::string> options;  ///< of the filesystem
  /// Who has mounted it, where that is what FUSE says; else root.
  uid_t user = 0;
  gid_t group = 0;
};

inline constexpr const char* kMountType = "fuse.bloscfs";

/// In the order in which they were mounted, as `process` sees them, a number or "self"; empty where
/// /proc cannot be read.
std::vector<MountEntry> mount_table(const std::string& process = "self");

/// What was mounted last at `path`, which is not asked: nobody may answer. Nullopt where nothing
/// is, or where it cannot be told.
std::optional<MountEntry> mount_at(const std::string& path);

/// What is mounted below a directory, which is given as an absolute path: paths from there.
std::vector<std::string> mount_points_below(const std::string& directory);

/// The first bloscfs mount of `source`, by whatever path it was mounted; only of those that can
/// write if `writable`. A mount in another namespace is not seen.
std::optional<MountEntry> find_bloscfs_mount(const std::string& source, bool writable = false);

}  // namespace bloscfs::fs
