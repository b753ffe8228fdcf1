#pragma once
// The values of the options uid= and gid=.

#include <optional>

#include <sys/types.h>

namespace bloscfs::fs {

/// The owner and the group that all files are shown with, where given.
struct OwnerOverride {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

}  // namespace bloscfs::fs
