#include "fs/source/local/files/source_object.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/support/caller.hpp"

namespace bloscfs::fs {
namespace {

/// Buffer sizes: enough for most attributes, then the kernel's maximum. Allocating the maximum at
/// once would take longer than a second call.
constexpr std::array<std::size_t, 2> kAttributeBytes{256, 64 << 10};

/// Calls `ask` with buffers of increasing size, and stores the result in `value`. Returns its size;
/// -1 with errno set on failure.
template <typename Ask>
ssize_t ask_for_attribute(std::string& value, const Ask& ask) {
  ssize_t size = -1;
  for (const std::size_t room : kAttributeBytes) {
    value.resize(room);
    size = ask(value.data(), value.size());
    if (size >= 0 || errno != ERANGE) break;
  }
  value.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return size;
}

/// True for the errors with which the kernel refuses to list attributes. Symlinks and special
/// files, for example, have no user attributes.
bool means_no_attributes(int error) {
  return error == EOPNOTSUPP || error == EACCES || error == EPERM || error == ELOOP;
}

constexpr const char* kAccessList = "system.posix_acl_access";

/// Returns the access list `list`, which may be empty, with the permissions of `mode` in place of
/// its own. Both lists are values of kAccessList, in the format of linux/posix_acl_xattr.h.
std::string access_list_of(std::string_view list, mode_t mode) {
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  constexpr std::size_t kHeader = sizeof(std::uint32_t);
  constexpr std::uint16_t kOwner = 1, kGroup = 4, kMask = 0x10, kOthers = 0x20;
  const std::uint32_t version = htole32(2);
  std::vector<Entry> entries;
  for (std::size_t at = kHeader; at + sizeof(Entry) <= list.size(); at += sizeof(Entry))
    std::memcpy(&entries.emplace_back(), list.data() + at, sizeof(Entry));
  if (entries.empty())
    for (const std::uint16_t tag : {kOwner, kGroup, kOthers})
      entries.push_back({htole16(tag), 0, htole32(0xffffffff)});
  const bool has_mask =
      std::ranges::any_of(entries, [](const Entry& entry) { return le16toh(entry.tag) == kMask; });
  for (Entry& entry : entries) {
    const std::uint16_t tag = le16toh(entry.tag);
    if (tag == kOwner) entry.permissions = htole16(mode >> 6 & 7);
    if (tag == (has_mask ? kMask : kGroup)) entry.permissions = htole16(mode >> 3 & 7);
    if (tag == kOthers) entry.permissions = htole16(mode & 7);
  }
  std::string value(reinterpret_cast<const char*>(&version), kHeader);
  value.append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
  return value;
}

}  // namespace

/// Returns a path through /proc, for system calls that take no O_PATH descriptor.
std::string SourceObject::path() const { return frame::descriptor_path(descriptor()); }

struct stat SourceObject::stat() const {
  struct stat st {};
  if (::fstat(descriptor(), &st) == 0) return st;
  if (!last_ || (errno != ENOENT && errno != ESTALE)) frame::throw_errno(name_);
  st = *last_;
  st.st_nlink = 0;
  return st;
}

struct stat SourceObject::stat_anew() const {
  const auto st = fs::stat_anew(descriptor(), "");
  return st ? *st : stat();
}

std::optional<struct stat> stat_anew(int fd, const std::string& name) {
  struct statx found {};
  if (::statx(fd, name.c_str(), AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
              STATX_BASIC_STATS, &found) != 0)
    return std::nullopt;
  const auto time = [](const statx_timestamp& at) -> timespec { return {at.tv_sec, at.tv_nsec}; };
  struct stat st {};
  st.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  st.st_rdev = makedev(found.stx_rdev_major, found.stx_rdev_minor);
  st.st_ino = found.stx_ino;
  st.st_mode = found.stx_mode;
  st.st_nlink = found.stx_nlink;
  st.st_uid = found.stx_uid;
  st.st_gid = found.stx_gid;
  st.st_size = static_cast<off_t>(found.stx_size);
  st.st_blocks = static_cast<blkcnt_t>(found.stx_blocks);
  st.st_blksize = found.stx_blksize;
  st.st_atim = time(found.stx_atime);
  st.st_mtim = time(found.stx_mtime);
  st.st_ctim = time(found.stx_ctime);
  return st;
}

std::shared_ptr<const SourceObject> SourceObject::kept() const {
  auto kept = std::make_shared<SourceObject>(object_, name_);
  kept->last_ = stat();
  return kept;
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

frame::UniqueFd SourceObject::open_noatime(int flags) const {
  frame::UniqueFd fd(frame::open_noatime(path(), flags | O_NONBLOCK));
  if (!fd) frame::throw_errno(name_);
  return fd;
}

frame::SharedFd SourceObject::open_to_write() const {
  return made_ ? object_ : std::make_shared<const frame::UniqueFd>(open_noatime(O_RDWR));
}

void SourceObject::check_access(int mask) const {
  if (::faccessat(AT_FDCWD, path().c_str(), mask, AT_EACCESS) != 0) frame::throw_errno(name_);
}

void SourceObject::set_mode(const Change& change, mode_t mode) const {
  const CallerIdentityScope as(change);
  if (::chmod(path().c_str(), mode) == 0) return;
  const int error = errno;
  // The access list below can change permissions, but no bits above 0777.
  const bool changes_others =
      (mode & kSetIds) == 0 || ((mode ^ stat().st_mode) & (mode_t{07777} & ~mode_t{0777})) != 0;
  if (error != EPERM || changes_others) frame::throw_errno(error, name_);
  // The sandbox forbids chmod(2) with set-ID bits, even if the file has them already. Setting the
  // access list changes the other permissions and keeps those bits.
  std::array<char, kAttributeBytes.back()> list;
  const ssize_t size = ::getxattr(path().c_str(), kAccessList, list.data(), list.size());
  const std::string wanted =
      access_list_of({list.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}, mode);
  if (::setxattr(path().c_str(), kAccessList, wanted.data(), wanted.size(), 0) != 0)
    frame::throw_errno(EPERM, name_);
}

void SourceObject::set_owner(const Change& change, uid_t owner, gid_t group) const {
  const CallerIdentityScope as(change);
  if (::fchownat(descriptor(), "", owner, group, AT_EMPTY_PATH) != 0) frame::throw_errno(name_);
}

void SourceObject::set_times(const Change& change, const timespec& accessed,
                             const timespec& modified) const {
  const CallerIdentityScope as(change);
  const timespec times[2] = {accessed, modified};
  if (::utimensat(AT_FDCWD, path().c_str(), times, 0) != 0) frame::throw_errno(name_);
}

std::vector<std::string> SourceObject::attribute_names() const {
  const std::string at = path();
  std::string list;
  const ssize_t size = ask_for_attribute(
      list, [&](char* room, std::size_t bytes) { return ::listxattr(at.c_str(), room, bytes); });
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
  const std::string at = path();
  std::string value;
  const ssize_t size = ask_for_attribute(value, [&](char* room, std::size_t bytes) {
    return ::getxattr(at.c_str(), name.c_str(), room, bytes);
  });
  if (size < 0) frame::throw_errno(name_);
  return value;
}

void SourceObject::set_attribute(const Change& change, const std::string& name,
                                 const std::string& value, int flags) const {
  const CallerIdentityScope as(change);
  if (::setxattr(path().c_str(), name.c_str(), value.data(), value.size(), flags) != 0)
    frame::throw_errno(name_);
}

void SourceObject::remove_attribute(const Change& change, const std::string& name) const {
  const CallerIdentityScope as(change);
  if (::removexattr(path().c_str(), name.c_str()) != 0) frame::throw_errno(name_);
}

}  // namespace bloscfs::fs
