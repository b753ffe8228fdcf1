#include "fs/source/local/files/on_behalf.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <grp.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

thread_local bool is_caller = false;  ///< inside a CallerIdentityScope that has a caller

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { ::cap_free(capabilities); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;

bool has(cap_value_t wanted) {
  const Capabilities own(::cap_get_proc());
  cap_flag_value_t value = CAP_CLEAR;
  return own && ::cap_get_flag(own.get(), wanted, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

bool may_act_as_others() {
  static const bool may = has(CAP_SETUID) && has(CAP_SETGID);
  return may;
}

std::vector<gid_t> groups_here() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, count)));
  return groups;
}

/// The effective IDs of the process never change, so they are read once.
uid_t own_user() {
  static const uid_t user = ::geteuid();
  return user;
}

gid_t own_group() {
  static const gid_t group = ::getegid();
  return group;
}

/// Returns the daemon's groups, which the first call reads. become() makes that call before any
/// thread gets the groups of a caller.
const std::vector<gid_t>& own_groups() {
  static const std::vector<gid_t> groups = groups_here();
  return groups;
}

/// Sets the groups of this thread alone. The C library's setgroups() would change those of all
/// threads.
bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

/// setfsuid(2) and setfsgid(2) return the previous ID and do not report failure. A second call with
/// an invalid ID, which changes nothing, returns the current ID.
bool set_user(uid_t user) {
  ::setfsuid(user);
  return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))) == user;
}

bool set_group(gid_t group) {
  ::setfsgid(group);
  return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))) == group;
}

/// Restores the capabilities to enter any directory, which the kernel dropped with the change of
/// user. Returns false on failure.
bool may_enter_all_directories() {
  const Capabilities own(::cap_get_proc());
  const cap_value_t wanted[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};
  return own && ::cap_set_flag(own.get(), CAP_EFFECTIVE, 2, wanted, CAP_SET) == 0 &&
         ::cap_set_proc(own.get()) == 0;
}

/// Gives the thread a umask of its own; at first it shares one with all other threads. Returns
/// false on failure.
bool has_own_umask() {
  thread_local const bool has_own = ::unshare(CLONE_FS) == 0;
  return has_own;
}

void restore_daemon_identity() {
  // Otherwise the thread would serve the next request with another user's rights, or with more than
  // the daemon's.
  if (!set_user(own_user()) || !set_group(own_group()) || !set_groups(own_groups())) std::abort();
}

bool become(const Caller& caller) {
  own_groups();
  const auto groups = caller.groups();
  if (groups && !set_groups(*groups)) return false;
  if (!set_group(caller.group) || !set_user(caller.user)) return false;
  // Without the caller's groups, the kernel would refuse directories that only a group may enter.
  return groups || may_enter_all_directories();
}

}  // namespace

CallerIdentityScope::CallerIdentityScope(const Change& change) : caller_(change.caller()) {
  // If this object is nested in another, the thread already has the caller's identity. The
  // outermost object restores the daemon's.
  if (caller_ == nullptr || is_caller) return;
  is_outermost_ = is_caller = true;
  if (caller_->umask != 0) {
    if (!has_own_umask()) {
      is_caller = false;
      frame::throw_errno(EPERM, "a umask for one thread");
    }
    ::umask(caller_->umask);
    has_umask_ = true;
  }
  const bool is_daemon = caller_->user == own_user() && caller_->group == own_group();
  if (is_daemon || !may_act_as_others()) return;
  has_caller_identity_ = true;
  if (become(*caller_)) return;
  restore_daemon_identity();
  if (has_umask_) ::umask(0);
  is_caller = false;
  frame::throw_errno(EPERM, "acting as the caller");
}

CallerIdentityScope::~CallerIdentityScope() {
  if (!is_outermost_) return;
  // The code that made the system call reads errno after this destructor.
  const int error = errno;
  is_caller = false;
  if (has_caller_identity_) restore_daemon_identity();
  if (has_umask_) ::umask(0);
  errno = error;
}

mode_t CallerIdentityScope::mode_of_new(mode_t wanted) const {
  return uses_daemon_identity() ? wanted & ~kSetIds : wanted;
}

bool CallerIdentityScope::may_remove(const struct stat& directory, const struct stat& entry) const {
  if ((directory.st_mode & S_ISVTX) == 0 || caller_ == nullptr || caller_->user == 0) return true;
  return caller_->user == directory.st_uid || caller_->user == entry.st_uid;
}

bool CallerIdentityScope::uses_daemon_identity() const {
  return caller_ != nullptr && caller_->user != 0 && caller_->user != own_user() &&
         !may_act_as_others();
}

void give_up_reserves() {
  const Capabilities own(::cap_get_proc());
  if (!own) return;
  const cap_value_t unwanted[] = {CAP_SYS_RESOURCE};
  for (const cap_flag_t set : {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE})
    ::cap_set_flag(own.get(), set, 1, unwanted, CAP_CLEAR);
  ::cap_set_proc(own.get());
}

}  // namespace bloscfs::fs
