#include "fs/source/local/files/source_directory.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/files/source_path.hpp"

namespace bloscfs::fs {

void SourceDirectory::fail(const std::string& name) const { frame::throw_errno(path_of(name)); }

std::string SourceDirectory::path_of(const std::string& name) const {
  return join_path(path_, name);
}

struct stat SourceDirectory::stat() const {
  struct stat st {};
  if (::fstat(descriptor(), &st) != 0) fail({});
  return st;
}

std::optional<struct stat> SourceDirectory::stat(const std::string& name) const {
  struct stat st {};
  if (::fstatat(descriptor(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return st;
  if (errno == ENOENT || errno == ENAMETOOLONG) return std::nullopt;
  fail(name);
}

frame::UniqueFd SourceDirectory::open(const std::string& name, int flags) const {
  frame::UniqueFd fd(
      ::openat(descriptor(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail(name);
  return fd;
}

SourceObject SourceDirectory::object(const std::string& name) const {
  return {open(name, O_PATH), path_of(name)};
}

frame::UniqueFd SourceDirectory::make_file(const Change& change, const std::string& name,
                                           mode_t mode) const {
  const CallerIdentityScope as(change);
  const auto make = [&](int flags) {
    return ::openat(descriptor(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags,
                    as.mode_of_new(mode));
  };
  frame::UniqueFd fd(make(O_NOATIME));
  // Some filesystems give the new file another owner, and only the owner may use O_NOATIME. The
  // failed call has made the file.
  if (!fd && errno == EPERM) {
    ::unlinkat(descriptor(), name.c_str(), 0);
    fd.reset(make(0));
  }
  if (!fd) fail(name);
  return fd;
}

void SourceDirectory::make_directory(const Change& change, const std::string& name,
                                     mode_t mode) const {
  const CallerIdentityScope as(change);
  if (::mkdirat(descriptor(), name.c_str(), mode) != 0) fail(name);
}

void SourceDirectory::make_symlink(const Change& change, const std::string& name,
                                   const std::string& target) const {
  const CallerIdentityScope as(change);
  if (::symlinkat(target.c_str(), descriptor(), name.c_str()) != 0) fail(name);
}

void SourceDirectory::make_special(const Change& change, const std::string& name, mode_t mode,
                                   dev_t device) const {
  const CallerIdentityScope as(change);
  if (::mknodat(descriptor(), name.c_str(), as.mode_of_new(mode), device) != 0) fail(name);
}

void SourceDirectory::make_link(const Change& change, const std::string& name,
                                const SourceDirectory& from, const std::string& existing) const {
  const CallerIdentityScope as(change);
  if (::linkat(from.descriptor(), existing.c_str(), descriptor(), name.c_str(), 0) != 0) fail(name);
}

/// Throws EPERM if a sticky directory forbids the removal. The kernel checks this itself if the
/// thread has the caller's identity. If the entry is absent, the caller's next system call reports
/// that.
void SourceDirectory::require_removable(const CallerIdentityScope& as,
                                        const std::string& name) const {
  if (!as.uses_daemon_identity()) return;
  const auto entry = stat(name);
  if (!entry || as.may_remove(stat(), *entry)) return;
  errno = EPERM;
  fail(name);
}

void SourceDirectory::check_removal(const Change& change, const std::string& name) const {
  const CallerIdentityScope as(change);
  object(".").check_access(W_OK | X_OK);
  const auto entry = stat(name);
  if (!entry || as.may_remove(stat(), *entry)) return;
  errno = EPERM;
  fail(name);
}

void SourceDirectory::remove_file(const Change& change, const std::string& name) const {
  const CallerIdentityScope as(change);
  require_removable(as, name);
  if (::unlinkat(descriptor(), name.c_str(), 0) != 0) fail(name);
}

void SourceDirectory::remove_directory(const Change& change, const std::string& name) const {
  const CallerIdentityScope as(change);
  require_removable(as, name);
  if (::unlinkat(descriptor(), name.c_str(), AT_REMOVEDIR) != 0) fail(name);
}

void SourceDirectory::rename(const Change& change, const std::string& name,
                             const SourceDirectory& to, const std::string& new_name) const {
  const CallerIdentityScope as(change);
  require_removable(as, name);
  to.require_removable(as, new_name);
  if (::renameat(descriptor(), name.c_str(), to.descriptor(), new_name.c_str()) != 0) fail(name);
}

void SourceDirectory::rename_to_free(const Change& change, const std::string& name,
                                     const SourceDirectory& to, const std::string& new_name) const {
  const CallerIdentityScope as(change);
  require_removable(as, name);
  if (::renameat2(descriptor(), name.c_str(), to.descriptor(), new_name.c_str(),
                  RENAME_NOREPLACE) == 0)
    return;
  // EINVAL: the filesystem does not support RENAME_NOREPLACE. Another program could still take the
  // name between the check and the rename.
  if (errno != EINVAL) fail(name);
  if (to.stat(new_name)) {
    errno = EEXIST;
    fail(name);
  }
  rename(change, name, to, new_name);
}

void SourceDirectory::exchange(const Change& change, const std::string& name,
                               const SourceDirectory& with, const std::string& other_name) const {
  const CallerIdentityScope as(change);
  require_removable(as, name);
  with.require_removable(as, other_name);
  if (::renameat2(descriptor(), name.c_str(), with.descriptor(), other_name.c_str(),
                  RENAME_EXCHANGE) != 0)
    fail(name);
}

void SourceDirectory::sync() const {
  const frame::UniqueFd fd(::openat(descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) fail({});
}

}  // namespace bloscfs::fs
