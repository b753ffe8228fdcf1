// Preloaded into a daemon. When the kernel reports to the daemon that the mount is gone (ENODEV
// when it reads a request), the daemon gets the errno in BLOSCFS_LAST_READ_ERROR instead.

#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

ssize_t with_last_error(ssize_t got) {
  const char* const wanted = std::getenv("BLOSCFS_LAST_READ_ERROR");
  if (got < 0 && errno == ENODEV && wanted != nullptr) errno = std::atoi(wanted);
  return got;
}

}  // namespace

extern "C" ssize_t read(int fd, void* out, size_t size) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, void*, size_t)>(dlsym(RTLD_NEXT, "read"));
  return with_last_error(real(fd, out, size));
}

extern "C" ssize_t readv(int fd, const iovec* parts, int count) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, const iovec*, int)>(dlsym(RTLD_NEXT, "readv"));
  return with_last_error(real(fd, parts, count));
}
