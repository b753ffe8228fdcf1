#include "tests/support/source_lock.hpp"

#include <cstdio>
#include <stdexcept>

#include <fcntl.h>

namespace bloscfs::test {
namespace {

constexpr const char* kName = ".bloscfs-lock";

}  // namespace

fs_std::path lock_file_in(const fs_std::path& directory) { return directory / kName; }

fs_std::path lock_file_beside(const fs_std::path& frame) {
  return frame.parent_path() / ("." + frame.filename().string() + kName);
}

bool is_lock_file(const fs_std::path& path) { return path.filename().string().ends_with(kName); }

bool is_swept(const fs_std::path& lock_file) {
  const auto bytes = read_file(lock_file);
  const std::string text(bytes.begin(), bytes.end());
  return text.find("maker") == text.rfind("maker");
}

SourceLock::SourceLock(const fs_std::path& file)
    : file_(file), fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (fcntl(fd_.get(), F_OFD_SETLK, &whole) != 0)
    throw std::runtime_error(file.string() + " cannot be locked");
}

SourceLock::~SourceLock() { unlink(file_.c_str()); }

}  // namespace bloscfs::test
