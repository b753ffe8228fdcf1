#pragma once
// Who keeps a mount from being unmounted.

#include <string>
#include <vector>

#include <sys/types.h>

#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::fs {

struct MountUser {
  pid_t process = 0;
  uid_t user = 0;
  std::string command;
  /// One of what it uses, and how: "open file", "current directory", "mapped file", "program".
  std::string use, path;
};

/// Processes that use something of the mount, the caller not among them, by their numbers. Those of
/// others are not seen by ordinary users. The mount is not asked.
std::vector<MountUser> users_of(const MountEntry& mount);

/// For each mount namespace, other than the caller's, that has the mount: the process in it with
/// the lowest number. `use` and `path` are empty. Processes called bloscfs are left out, since the
/// daemon has a namespace of its own.
std::vector<MountUser> holders_of(const MountEntry& mount);

/// Whether a process that a mount names can be its daemon: a bloscfs of the user who has mounted
/// it. False where /proc does not show the process.
bool may_serve(const MountEntry& mount, pid_t process);

}  // namespace bloscfs::fs
