#include "fs/source/source_object.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/on_behalf.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxAttributeBytes = 64 << 10;  // the kernel's own limit

/// Symlinks and special files have no user attributes.
bool means_no_attributes(int error) {
  return error == EOPNOTSUPP || error == EACCES || error == EPERM || error == ELOOP;
}

}  // namespace

/// A path for calls that take no descriptor of this kind: it leads to the object through /proc.
std::string SourceObject::path() const { return frame::descriptor_path(descriptor()); }

struct stat SourceObject::stat() const {
  struct stat st {};
  if (::fstat(descriptor(), &st) != 0) frame::throw_errno(name_);
  return st;
}

std::optional<struct stat> SourceObject::stat(const std::string& entry) const {
  struct stat st {};
  if (::fstatat(descriptor(), entry.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return st;
  if (errno == ENOENT) return std::nullopt;
  frame::throw_errno(name_);
}

frame::UniqueFd SourceObject::open(int flags) const {
  frame::UniqueFd fd(::open(path().c_str(), flags | O_CLOEXEC | O_NONBLOCK));
  if (!fd) frame::throw_errno(name_);
  return fd;
}

frame::UniqueFd SourceObject::open_quietly(int flags) const {
  frame::UniqueFd fd(frame::open_quietly(path(), flags | O_NONBLOCK));
  if (!fd) frame::throw_errno(name_);
  return fd;
}

void SourceObject::check_access(int mask) const {
  if (::faccessat(AT_FDCWD, path().c_str(), mask, AT_EACCESS) != 0) frame::throw_errno(name_);
}

void SourceObject::set_mode(mode_t mode) const {
  const AsCaller as;
  if (::chmod(path().c_str(), mode) != 0) frame::throw_errno(name_);
}

void SourceObject::set_owner(uid_t owner, gid_t group) const {
  const AsCaller as;
  if (::fchownat(descriptor(), "", owner, group, AT_EMPTY_PATH) != 0) frame::throw_errno(name_);
}

void SourceObject::set_times(const timespec& accessed, const timespec& modified) const {
  const AsCaller as;
  const timespec times[2] = {accessed, modified};
  if (::utimensat(AT_FDCWD, path().c_str(), times, 0) != 0) frame::throw_errno(name_);
}

std::vector<std::string> SourceObject::attribute_names() const {
  std::vector<char> list(kMaxAttributeBytes);
  const ssize_t size = ::listxattr(path().c_str(), list.data(), list.size());
  if (size < 0) {
    if (means_no_attributes(errno)) return {};
    frame::throw_errno(name_);
  }
  std::vector<std::string> names;
  for (const char* name = list.data(); name < list.data() + size; name += names.back().size() + 1)
    names.emplace_back(name);
  return names;
}

std::string SourceObject::attribute(const std::string& name) const {
  std::vector<char> value(kMaxAttributeBytes);
  const ssize_t size = ::getxattr(path().c_str(), name.c_str(), value.data(), value.size());
  if (size < 0) frame::throw_errno(name_);
  return {value.data(), static_cast<std::size_t>(size)};
}

void SourceObject::set_attribute(const std::string& name, const std::string& value,
                                 int flags) const {
  const AsCaller as;
  if (::setxattr(path().c_str(), name.c_str(), value.data(), value.size(), flags) != 0)
    frame::throw_errno(name_);
}

void SourceObject::remove_attribute(const std::string& name) const {
  const AsCaller as;
  if (::removexattr(path().c_str(), name.c_str()) != 0) frame::throw_errno(name_);
}

}  // namespace bloscfs::fs
