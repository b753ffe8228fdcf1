#include "frame/store/ofd_lock.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>

namespace bloscfs::frame::inline store {
namespace {

/// The locked bytes. They are beyond all contents, where programs do not lock ranges of their data.
constexpr off_t kFrameByte = off_t{1} << 62;
constexpr off_t kSourceByte = kFrameByte + 1;

struct flock locked_byte(short type, OfdLocked what) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = what == OfdLocked::frame ? kFrameByte : kSourceByte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

OfdLock try_ofd_lock(int fd, OfdLocked what) {
  struct flock lock = locked_byte(F_WRLCK, what);
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return OfdLock::taken;
  if (errno != EAGAIN && errno != EACCES) return OfdLock::impossible;
  // A program that may only read the file can only take a read lock.
  const bool is_known = ::fcntl(fd, F_OFD_GETLK, &lock) == 0;
  return is_known && lock.l_type == F_RDLCK ? OfdLock::held_for_reading : OfdLock::held;
}

void release_ofd_lock(int fd, OfdLocked what) {
  struct flock lock = locked_byte(F_UNLCK, what);
  ::fcntl(fd, F_OFD_SETLK, &lock);
}

bool is_ofd_locked(int fd, OfdLocked what) {
  struct flock lock = locked_byte(F_WRLCK, what);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

}  // namespace bloscfs::frame::inline store
