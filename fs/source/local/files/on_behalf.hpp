#pragma once
// What somebody's request changes in SOURCE is changed as them, so that the kernel decides about it
// once more, by what is really there: a name may lead to something else than when it permitted the
// request. Where the daemon may not take another identity, it changes SOURCE as itself.
//
// What the daemon reads to find out what a file is, and what it commits, it does as itself: who may
// execute a file, or write to it, need not be permitted to read it.

#include <sys/stat.h>
#include <sys/types.h>

#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// For the system calls of one change of names or attributes (SourceDirectory, SourceObject): gives
/// the thread the user, groups and umask of the change's caller, or leaves it the daemon where
/// there is none. A caller whose groups are unknown may go into every directory; what it owns, and
/// what a sticky directory permits, is the kernel's to say all the same. Throws
/// std::system_error(EPERM) where the identity cannot be had.
class AsCaller {
 public:
  explicit AsCaller(const Change& change);
  ~AsCaller();
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

  /// True where the daemon acts as itself for a user who may have less rights. Then the kernel has
  /// permitted the request by what it knew, and cannot say it once more by what is there:
  bool has_daemons_rights() const;
  /// - What is made is the daemon's, so that it has no set-user-ID and set-group-ID bits: who has
  ///   written it would get the daemon's rights.
  mode_t mode_of_new(mode_t wanted) const;
  /// - What a sticky directory does not let that user remove stays.
  bool may_remove(const struct stat& directory, const struct stat& entry) const;

 private:
  const Caller* const caller_;  ///< null: the daemon
  bool is_first_ = false;       ///< of those that are nested
  bool is_other_ = false;
  bool has_umask_ = false;
};

/// Before the first thread: gives up the right to use what quotas and reserved blocks keep from the
/// users that the daemon acts for.
void give_up_reserves();

}  // namespace bloscfs::fs
