#include "frame/ofd_lock.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>

namespace bloscfs::frame {
namespace {

constexpr off_t kLockedByte = off_t{1} << 62;

struct flock locked_byte(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockedByte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

OfdLock try_ofd_lock(int fd) {
  struct flock lock = locked_byte(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return OfdLock::taken;
  if (errno != EAGAIN && errno != EACCES) return OfdLock::impossible;
  const bool is_known = ::fcntl(fd, F_OFD_GETLK, &lock) == 0;
  return is_known && lock.l_type == F_RDLCK ? OfdLock::held_for_reading : OfdLock::held;
}

void release_ofd_lock(int fd) {
  struct flock lock = locked_byte(F_UNLCK);
  ::fcntl(fd, F_OFD_SETLK, &lock);
}

bool is_ofd_locked(int fd) {
  struct flock lock = locked_byte(F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

}  // namespace bloscfs::frame
