#pragma once
// Who asks for something, and what a change by them leaves of set-user-ID and set-group-ID bits.

#include <optional>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace bloscfs::fs {

struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  mode_t umask = 0;
  pid_t thread = 0;  ///< lives as long as its request is not answered; 0: not to be seen from here

  /// The supplementary groups; nullopt where the thread cannot be seen.
  std::optional<std::vector<gid_t>> groups() const;

  /// True for the groups of the process, supplementary ones included.
  bool is_in(gid_t wanted) const;
};

/// Who executes such a file gets the rights of its owner or group.
inline constexpr mode_t kSetIds = S_ISUID | S_ISGID;

/// The bits of `mode` that a file of that group loses by new contents from somebody who may not set
/// such bits, and by a new owner or group from anybody. Where the group may not execute it, the bit
/// for the group is no privilege, and its members leave it alone.
mode_t bits_to_drop(mode_t mode, gid_t group, const Caller& caller);

}  // namespace bloscfs::fs
