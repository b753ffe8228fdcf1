#include "fs/source_root.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// A path is opened in steps of at most so many bytes, which leaves room for a suffix.
constexpr std::size_t kLongestStep = PATH_MAX - NAME_MAX - 1;

const char* or_dot(const std::string& path) { return path.empty() ? "." : path.c_str(); }

/// A descriptor, or -1 with errno set.
int open_beneath(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  // A symlink that now stands where a directory was seen would lead elsewhere.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, or_dot(path), &how, sizeof how));
}

}  // namespace

std::string join_path(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

std::optional<NearPath> SourceRoot::try_approach(const std::string& path) const {
  NearPath near{{}, directory_.get(), path};
  while (near.rest.size() > kLongestStep) {
    const std::size_t end = near.rest.rfind('/', kLongestStep);
    if (end == std::string::npos) {
      errno = ENAMETOOLONG;
      return std::nullopt;
    }
    frame::UniqueFd next(
        open_beneath(near.directory, near.rest.substr(0, end), O_PATH | O_DIRECTORY));
    if (!next) return std::nullopt;
    near.above = std::move(next);
    near.directory = near.above.get();
    near.rest.erase(0, end + 1);
  }
  return near;
}

NearPath SourceRoot::approach(const std::string& path) const {
  auto near = try_approach(path);
  if (!near) throw_errno(errno, path);
  return std::move(*near);
}

int SourceRoot::try_open(const std::string& path, int flags) const {
  if (path.size() <= kLongestStep) return open_beneath(directory_.get(), path, flags);
  const auto near = try_approach(path);
  return near ? open_beneath(near->directory, near->rest, flags) : -1;
}

frame::UniqueFd SourceRoot::open(const std::string& path, int flags) const {
  frame::UniqueFd fd(try_open(path, flags));
  if (!fd) throw_errno(errno, path);
  return fd;
}

std::optional<struct stat> SourceRoot::stat(const std::string& path) const {
  struct stat st {};
  // No directory on the way that could have become a symlink: one call tells.
  const bool is_direct = !path.empty() && path.find('/') == std::string::npos;
  const frame::UniqueFd fd(is_direct ? -1 : try_open(path, O_PATH));
  const int result = is_direct ? ::fstatat(directory_.get(), path.c_str(), &st, AT_SYMLINK_NOFOLLOW)
                     : fd      ? ::fstat(fd.get(), &st)
                               : -1;
  if (result == 0) return st;
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP)
    return std::nullopt;
  throw_errno(errno, path);
}

std::string SourceRoot::read_link(const std::string& path) const {
  const frame::UniqueFd fd = open(path, O_PATH);
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(fd.get(), "", text.data(), text.size());
  if (size < 0) throw_errno(errno, path);
  return {text.data(), static_cast<std::size_t>(size)};
}

struct statvfs SourceRoot::stat_filesystem() const {
  struct statvfs st {};
  if (::fstatvfs(directory_.get(), &st) != 0) throw_errno(errno, "");
  return st;
}

void SourceRoot::sync_all() const {
  const frame::UniqueFd root = open({}, O_RDONLY | O_DIRECTORY);
  if (::syncfs(root.get()) != 0) throw_errno(errno, "syncfs");
}

SourceObject SourceRoot::object(const std::string& path) const {
  return {open(path, O_PATH), path};
}

SourceDirectory SourceRoot::directory(const std::string& path) const {
  return {open(path, O_PATH | O_DIRECTORY), path};
}

std::vector<SourceRoot::Entry> SourceRoot::list(const std::string& path) const {
  frame::UniqueFd fd = open(path, O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (!directory) throw_errno(errno, path);
  fd.release();
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    entries.push_back({entry->d_name, entry->d_type, entry->d_ino});
  }
  if (errno != 0) throw_errno(errno, path);
  return entries;
}

}  // namespace bloscfs::fs
