#pragma once
// The hidden lock file of a SOURCE. It lets only one program at a time write there, and holds the
// journal.

#include <string>

#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Returns the path of the lock file in a SOURCE that is a directory.
fs_std::path lock_file_in(const fs_std::path& directory);
/// Returns the path of the lock file next to a SOURCE that is a single frame.
fs_std::path lock_file_beside(const fs_std::path& frame);
/// True if the path has the name of a lock file.
bool is_lock_file(const fs_std::path& path);
/// True once a mount has removed the leftovers of earlier mounts. The journal then has at most one
/// maker.
bool is_swept(const fs_std::path& lock_file);

/// Makes and locks the file, as a mount does until it has stored everything. The destructor removes
/// the file.
class SourceLock {
 public:
  explicit SourceLock(const fs_std::path& file);
  ~SourceLock();
  SourceLock(const SourceLock&) = delete;
  SourceLock& operator=(const SourceLock&) = delete;

 private:
  const fs_std::path file_;
  const Fd fd_;
};

}  // namespace bloscfs::test
