#include "frame/store/open_regular.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int open_noatime(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOATIME);
  return fd < 0 && errno == EPERM ? ::open(path.c_str(), flags | O_CLOEXEC) : fd;
}

UniqueFd open_if_regular(const UniqueFd& place, int flags) {
  struct stat st {};
  if (::fstat(place.get(), &st) != 0) throw_errno("fstat");
  if (!S_ISREG(st.st_mode)) return {};
  // Open the file by its descriptor, because the name may lead to another file by now.
  UniqueFd fd(open_noatime(descriptor_path(place.get()), flags));
  if (!fd) throw_errno("open");
  return fd;
}

UniqueFd open_regular_at(int directory, const std::string& name, int flags) {
  const UniqueFd place(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (place) return open_if_regular(place, flags);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  throw_errno(name);
}

}  // namespace bloscfs::frame::inline store
