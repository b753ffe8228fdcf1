#pragma once
// What mounts could not commit before they ended, asked for without a lock.

#include <string>
#include <vector>

#include <sys/types.h>

#include "fs/source/local/files/journal.hpp"

namespace bloscfs::fs {

/// As the journal of a SOURCE, a path, names them now. None where there is no journal, or it is not
/// that user's: what is in it is then nobody's word. Errors are std::system_error.
std::vector<KeptFile> kept_files(const std::string& source, uid_t user);

}  // namespace bloscfs::fs
