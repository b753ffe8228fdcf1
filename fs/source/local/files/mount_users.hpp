#pragma once
// Finds the processes that keep a mount from being unmounted.

#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::fs {

struct MountUser {
  pid_t process = 0;
  uid_t user = 0;
  std::string command;
  /// One thing that the process uses, and how: "open file", "current directory", "mapped file",
  /// "program".
  std::string use, path;
};

/// Returns the processes that use something in the mount, except the calling process, sorted by
/// PID. An ordinary user sees only their own processes. Does not access the mount itself.
std::vector<MountUser> users_of(const MountEntry& mount);

/// Returns a process that has a file of the mount open for writing; nullopt if /proc shows none.
std::optional<MountUser> writer_in(const MountEntry& mount);

/// Returns the processes that can hold a lock of an open file description on a file, which the
/// caller has looked at with stat(2). Without the right to see them, returns the daemons of the
/// caller.
std::vector<pid_t> lock_holders(const struct stat& file);

/// True if /proc/locks shows that no process on this host has such a lock.
bool is_unlocked_here(const struct stat& file);

/// Returns the name of a user, or the number of a user without a name.
std::string user_name(uid_t user);

/// Returns, for each other mount namespace that contains the mount, the process in it with the
/// lowest PID. `use` and `path` are empty. Processes called bloscfs are left out, since the daemon
/// has a mount namespace of its own.
std::vector<MountUser> holders_of(const MountEntry& mount);

/// Returns the mount's daemon, without asking it. Returns nullopt if /proc does not show it: that
/// needs root, and Linux 6.16.
std::optional<pid_t> daemon_of(const MountEntry& mount);

/// True if `process` can be the mount's daemon: a bloscfs process of the user who mounted it. False
/// if /proc does not show the process.
bool may_serve(const MountEntry& mount, pid_t process);

}  // namespace bloscfs::fs
