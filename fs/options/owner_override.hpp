#pragma once
// What the options uid= and gid= ask for.

#include <optional>

#include <sys/types.h>

namespace bloscfs::fs {

/// Whose all files are shown as, where mount options ask for that.
struct OwnerOverride {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

}  // namespace bloscfs::fs
