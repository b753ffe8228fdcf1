#pragma once
// The descriptors that a mount keeps open for files. Users share most of them. The others are the
// daemon's own, so that work for all users does not fail because of files that one user has open.

#include <cstddef>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// How a process divides the descriptors that it may have open.
struct DescriptorLimits {
  std::size_t for_files = 0;  ///< for all users together
  std::size_t batch = 1;      ///< the largest batch of files to commit
  std::size_t watched = 0;    ///< for watched directories, and files that were looked at in them

  explicit DescriptorLimits(std::size_t limit);
  /// Returns the limits of this process at the time of the call. Throws std::system_error.
  static DescriptorLimits of_process();
};

/// Divides the descriptors for files among users. A part lasts until the file that it counts is
/// closed; for a changed file, until its commit has succeeded. Thread-safe.
class DescriptorShares {
 public:
  /// All arguments outlive this object. `log` gets one message for each user whose requests fail
  /// with EMFILE.
  DescriptorShares(std::size_t limit, Committer& committer, OnceLog& log, const frame::Clock& clock)
      : share_(limit), committer_(committer), log_(log), clock_(clock) {}

  /// Takes `amount` descriptors of the user's share. If files that wait for their commit use up the
  /// share, asks for these commits and waits up to 10 seconds for them. The wait needs a slot
  /// (NoSlot). Throws EMFILE if the share is still used up.
  FairShare::Part take(Request& request, std::size_t amount);
  /// Like take(), but never waits. Empty if the user's share is used up.
  FairShare::Part take_at_once(uid_t user, std::size_t amount) { return share_.take(user, amount); }

 private:
  FairShare share_;
  Committer& committer_;
  OnceLog& log_;
  const frame::Clock& clock_;
};

}  // namespace bloscfs::fs
