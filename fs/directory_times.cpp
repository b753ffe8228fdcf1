#include "fs/directory_times.hpp"

#include <system_error>

#include "fs/classifier.hpp"

namespace bloscfs::fs {

DirectoryTimes::~DirectoryTimes() {
  try {
    if (nanoseconds(directory_.stat().st_mtim) != nanoseconds(before_.st_mtim))
      directory_.set_times(kUnchangedTime, before_.st_mtim);
  } catch (const std::system_error&) {
    // Only an owner sets times.
  }
}

}  // namespace bloscfs::fs
