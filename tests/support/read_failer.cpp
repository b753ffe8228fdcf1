// Preloaded into a daemon. While the file that BLOSCFS_FAILING_READ names exists, it makes the call
// fail that the file describes. The file holds "read ERRNO NAME" or "open ERRNO NAME". ERRNO is a
// number, and the path of the read or opened file must end with "/NAME".

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using ReadAt = ssize_t(int, void*, size_t, off64_t);

struct Failure {
  char call[8] = "";
  int error = 0;
  char name[256] = "";
};

/// Reads which call shall fail. False if no call shall fail.
bool told(Failure& failure) {
  const char* const path = std::getenv("BLOSCFS_FAILING_READ");
  const int fd = path == nullptr ? -1 : next<Open>("open64")(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[300] = "";
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size > 0 &&
         std::sscanf(text, "%7s %d %255s", failure.call, &failure.error, failure.name) == 3;
}

std::string link_target(const std::string& path) {
  char target[4096];
  const ssize_t size = readlink(path.c_str(), target, sizeof target);
  return size < 0 ? path : std::string(target, static_cast<std::size_t>(size));
}

/// True, with errno set, if `call` shall fail on the file `path`. Follows `path` if it is a
/// symbolic link, such as /proc/self/fd/N.
bool fails(std::string_view call, const std::string& path) {
  const int before = errno;
  Failure failure;
  const bool is_meant = told(failure) && call == failure.call &&
                        link_target(path).ends_with(std::string("/") + failure.name);
  errno = is_meant ? failure.error : before;
  return is_meant;
}

bool fails(std::string_view call, int fd) {
  return fails(call, "/proc/self/fd/" + std::to_string(fd));
}

/// Returns the mode argument of open(), which follows the flags only if they create a file.
mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  if (fails("open", path)) return -1;
  return next<Open>("open64")(path, flags, mode);
}

extern "C" int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  const bool only_finds = (flags & O_PATH) != 0;
  if (!only_finds && fails("open", "/" + std::string(path))) return -1;
  return next<OpenAt>("openat64")(directory, path, flags, mode);
}

extern "C" ssize_t pread64(int fd, void* out, size_t size, off64_t offset) {
  if (fails("read", fd)) return -1;
  return next<ReadAt>("pread64")(fd, out, size, offset);
}

// With _FORTIFY_SOURCE, programs call these functions in place of open() without a mode.
extern "C" int __open64_2(const char* path, int flags) { return open64(path, flags); }
extern "C" int __openat64_2(int directory, const char* path, int flags) {
  return openat64(directory, path, flags);
}
