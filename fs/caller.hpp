#pragma once
// Who asks for a change of a file, and what that leaves of its set-user-ID and set-group-ID bits.

#include <functional>

#include <sys/types.h>

namespace bloscfs::fs {

struct Caller {
  uid_t user = 0;
  /// True for the groups of the process, supplementary ones included.
  std::function<bool(gid_t)> is_in = {};
};

/// The bits of `mode` that a file of that group loses by new contents from somebody who may not set
/// such bits, and by a new owner or group from anybody. Where the group may not execute it, the bit
/// for the group is no privilege, and its members leave it alone.
mode_t bits_to_drop(mode_t mode, gid_t group, const Caller& caller);

}  // namespace bloscfs::fs
