#pragma once
// The process that sends a request, and the set-user-ID and set-group-ID bits that a file loses
// when a process changes it.

#include <optional>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace bloscfs::fs {

struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  mode_t umask = 0;
  pid_t thread = 0;  ///< valid until the request is answered; 0: invisible from this PID namespace

  /// Returns the supplementary groups, or nullopt if the thread is not visible in /proc.
  std::optional<std::vector<gid_t>> groups() const;

  /// True if `wanted` is the caller's group or one of its supplementary groups.
  bool is_in(gid_t wanted) const;
};

/// A process that executes a file with these bits gets the rights of the file's owner or group.
inline constexpr mode_t kSetIds = S_ISUID | S_ISGID;

/// Returns the bits of `mode` that a regular file of `group` must lose:
/// - when a caller without the privilege to set such bits writes new contents;
/// - when any caller changes the file's owner or group.
///
/// The set-group-ID bit grants nothing if the group may not execute the file. Members of the group,
/// and root, then keep it.
mode_t bits_to_drop(mode_t mode, gid_t group, const Caller& caller);

}  // namespace bloscfs::fs
