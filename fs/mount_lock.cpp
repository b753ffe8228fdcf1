#include "fs/mount_lock.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::chrono::milliseconds kPoll{20};

frame::UniqueFd open_source_file(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), "cannot be locked");
  return fd;
}

bool try_lock(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK && errno != EINTR)
    throw std::system_error(errno, std::generic_category(), "cannot be locked");
  return false;
}

/// True unless the previous owner has put another file in the place of what we have locked.
bool still_there(int fd, const std::string& path) {
  struct stat locked {
  }, now{};
  return ::fstat(fd, &locked) == 0 && ::stat(path.c_str(), &now) == 0 &&
         locked.st_dev == now.st_dev && locked.st_ino == now.st_ino;
}

}  // namespace

bool is_locked_by_other(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) return false;
  const frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

MountLock::MountLock(const std::string& source, std::chrono::milliseconds patience,
                     const std::function<void()>& before_wait) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    locked_ = open_source_file(source);
    if (try_lock(locked_.get()) && still_there(locked_.get(), source)) return;
    if (std::chrono::steady_clock::now() >= end)
      throw std::runtime_error("is mounted for writing by another bloscfs");
    before_wait();
    std::this_thread::sleep_for(kPoll);
  }
}

void MountLock::follow(const frame::UniqueFd& file) {
  frame::UniqueFd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (copy && try_lock(copy.get())) locked_ = std::move(copy);
}

}  // namespace bloscfs::fs
