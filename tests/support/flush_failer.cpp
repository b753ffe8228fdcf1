// Preloaded into a daemon. It makes one fsync() of a directory fail with EIO. The size of the file
// that BLOSCFS_FAILING_FLUSH names is the number of directory flushes that succeed before that. The
// failing flush removes the file.

#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool fails_now() {
  const char* const path = std::getenv("BLOSCFS_FAILING_FLUSH");
  struct stat st {};
  if (path == nullptr || stat(path, &st) != 0) return false;
  return st.st_size == 0 ? unlink(path) == 0 : truncate(path, st.st_size - 1) != 0;
}

}  // namespace

extern "C" int fsync(int fd) {
  struct stat st {};
  if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && fails_now()) {
    errno = EIO;
    return -1;
  }
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"))(fd);
}
