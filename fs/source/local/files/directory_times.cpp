#include "fs/source/local/files/directory_times.hpp"

#include <exception>

#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

DirectoryTimes::~DirectoryTimes() {
  try {
    struct stat after = directory_.stat();
    if (nanoseconds(after.st_mtim) != nanoseconds(before_.st_mtim)) {
      directory_.set_times(Change::by_daemon(request_), kUnchangedTime, before_.st_mtim);
      after = directory_.stat();
    }
    if (on_change_ && nanoseconds(after.st_ctim) != nanoseconds(before_.st_ctim))
      on_change_(before_.st_ctim, after.st_ctim);
  } catch (const std::exception&) {
    // Ignored: only the owner of a directory may set its times.
  }
}

}  // namespace bloscfs::fs
