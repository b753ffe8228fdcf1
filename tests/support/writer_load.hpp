#pragma once
// Many who write at once, and a watch on whether the mount goes on.

#include <string>
#include <vector>

#include "tests/support/mount.hpp"

namespace bloscfs::test {

struct WriterLoad {
  int writers;
  int megabytes;                     ///< of each
  std::vector<std::string> options;  ///< of the mount
  const char* suffix = "";           ///< of the names
};

/// Each writes a file of its own; unmounts at the end. Fails where no byte is written, or nobody
/// else is answered, for 5 s. In sanitized builds at most 24 write a tenth.
void run_load(const WriterLoad& load, Mount& mount);

}  // namespace bloscfs::test
