#pragma once
// The hidden file by which programs exclude each other from writing to a SOURCE.

#include <string>

#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Where it is: in a directory, or beside a frame.
fs_std::path lock_file_in(const fs_std::path& directory);
fs_std::path lock_file_beside(const fs_std::path& frame);
/// True for such names.
bool is_lock_file(const fs_std::path& path);
/// True once a mount has removed what earlier ones have left: its journal names it alone.
bool is_swept(const fs_std::path& lock_file);

/// Has it locked until the end, as a mount until everything is written.
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
