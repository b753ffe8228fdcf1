#pragma once
// Reads the kernel's table of mounts.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bloscfs::fs {

struct MountEntry {
  int id = 0;          ///< mount ID, as in mountinfo and /proc/PID/fdinfo
  std::string device;  ///< device number, such as "0:57"
  std::string point;
  std::string type;  ///< such as "fuse.bloscfs"
  std::string source;
  std::vector<std::string> flags;  ///< of the mount, as in mount(8)
  bool read_only = false;
  std::vector<std::string> options;  ///< of the filesystem
  /// Owner of a FUSE mount, from its user_id and group_id options; 0 for other filesystems.
  uid_t user = 0;
  gid_t group = 0;
};

inline constexpr const char* kMountType = "fuse.bloscfs";

/// Returns the mounts that `process` (a PID or "self") sees, in the order in which they were
/// mounted. Returns none if /proc cannot be read.
std::vector<MountEntry> mount_table(const std::string& process = "self");

/// Returns the last mount at `path`; nullopt if nothing is mounted there, or if that cannot be
/// determined. Does not access the mount itself, whose daemon may hang.
std::optional<MountEntry> mount_at(const std::string& path);

/// Returns the mount points below a directory, relative to it. `directory` is an absolute path.
std::vector<std::string> mount_points_below(const std::string& directory);

/// Returns the first bloscfs mount of `source`, even if it was mounted by another path; if
/// `writable`, the first writable mount. Sees only the caller's mount namespace.
std::optional<MountEntry> find_bloscfs_mount(const std::string& source, bool writable = false);

}  // namespace bloscfs::fs
