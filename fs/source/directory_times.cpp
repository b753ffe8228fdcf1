#include "fs/source/directory_times.hpp"

#include <exception>

#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

DirectoryTimes::~DirectoryTimes() {
  try {
    if (nanoseconds(directory_.stat().st_mtim) != nanoseconds(before_.st_mtim))
      directory_.set_times(kUnchangedTime, before_.st_mtim);
    const timespec after = directory_.stat().st_ctim;
    if (tell_ && nanoseconds(after) != nanoseconds(before_.st_ctim)) tell_(before_.st_ctim, after);
  } catch (const std::exception&) {
    // Only an owner sets times.
  }
}

}  // namespace bloscfs::fs
