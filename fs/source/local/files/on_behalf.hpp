#pragma once
// Makes the daemon change SOURCE with the identity of the requesting user. The kernel then checks
// the permissions once more, on the object that has the name now: another object may have taken the
// name after the kernel permitted the request. A daemon that may not change its identity changes
// SOURCE as itself.
//
// The daemon always acts as itself to classify files and to commit contents. A user who may execute
// or write a file need not be permitted to read it.

#include <sys/stat.h>
#include <sys/types.h>

#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Gives the thread the user, groups and umask of the change's caller, for the system calls of one
/// change of names or attributes (SourceDirectory, SourceObject). Leaves the thread as the daemon
/// if the change has no caller. Objects may be nested.
///
/// If the caller's groups are unknown, the thread may enter and search every directory. The kernel
/// still checks ownership and sticky directories. Throws std::system_error(EPERM) if the identity
/// cannot be taken.
class CallerIdentityScope {
 public:
  explicit CallerIdentityScope(const Change& change);
  ~CallerIdentityScope();
  CallerIdentityScope(const CallerIdentityScope&) = delete;
  CallerIdentityScope& operator=(const CallerIdentityScope&) = delete;

  /// True if the daemon acts as itself for a user who may have fewer rights. The kernel then checks
  /// the daemon's rights and not the user's, so callers need the two functions below.
  bool uses_daemon_identity() const;
  /// Returns the mode for a new file. If the daemon acts as itself, it owns the new file. Then
  /// set-user-ID and set-group-ID bits are removed: they would give the user who writes the file
  /// the daemon's rights.
  mode_t mode_of_new(mode_t wanted) const;
  /// True unless `directory` is sticky and neither it nor `entry` belongs to the caller. Always
  /// true for root and the daemon.
  bool may_remove(const struct stat& directory, const struct stat& entry) const;

 private:
  const Caller* const caller_;        ///< null: the daemon
  bool is_outermost_ = false;         ///< the outermost of nested objects
  bool has_caller_identity_ = false;  ///< the thread has the caller's identity, not the daemon's
  bool has_umask_ = false;            ///< the thread has the caller's umask
};

/// Gives up CAP_SYS_RESOURCE, which would let the daemon exceed quotas and use reserved blocks on
/// behalf of users who may not. Must be called before the first thread starts.
void give_up_reserves();

}  // namespace bloscfs::fs
