#pragma once
// Lists what mounts could not commit before they ended, without taking the lock on SOURCE.

#include <string>
#include <vector>

#include <sys/types.h>

#include "fs/source/local/files/journal.hpp"

namespace bloscfs::fs {

/// Returns the kept files that the journals of SOURCE name now. `source` is its path. Ignores a
/// journal that does not belong to `user`, or that other users may access, since those may have
/// written it. Errors are std::system_error.
std::vector<KeptFile> kept_files(const std::string& source, uid_t user);

}  // namespace bloscfs::fs
