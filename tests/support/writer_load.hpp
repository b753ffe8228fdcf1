#pragma once
// Writes many files at once, and checks that the mount does not freeze.

#include <string>
#include <vector>

#include "tests/support/mount.hpp"

namespace bloscfs::test {

struct WriterLoad {
  int writers;
  int megabytes;                     ///< size of each file, in MiB
  std::vector<std::string> options;  ///< of the mount
  const char* suffix = "";           ///< of the file names
};

/// Starts `load.writers` threads that write one file each, and unmounts at the end. The test fails
/// if no writer makes progress for 60 s, or if a listing of the mount takes 60 s. In sanitized
/// builds at most 24 threads write a tenth each.
void run_load(const WriterLoad& load, Mount& mount);

}  // namespace bloscfs::test
