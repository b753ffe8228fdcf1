#pragma once
// The descriptors that a mount keeps open for files. Users share them; some are the daemon's own,
// so that nothing which it does for all of them fails because of what is open.

#include <cstddef>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// How a process divides what it may have open.
struct DescriptorLimits {
  std::size_t for_files = 0;  ///< all users together
  std::size_t batch = 1;      ///< files that are committed together
  std::size_t watched = 0;    ///< directories that are watched, and what was looked at in them

  explicit DescriptorLimits(std::size_t limit);
  /// Of this process, as it is now. Throws std::system_error.
  static DescriptorLimits of_process();
};

/// Thread-safe. A part lasts until what it stands for is closed: of a file that was changed that is
/// after its commit, however often that fails.
class DescriptorShares {
 public:
  /// All outlive this object. `log` tells once of each user who gets EMFILE.
  DescriptorShares(std::size_t limit, Committer& committer, OnceLog& log, const frame::Clock& clock)
      : share_(limit), committer_(committer), log_(log), clock_(clock) {}

  /// Where the user's share is used up by files that wait for their commit the request waits for
  /// that: NoSlot. Throws EMFILE.
  FairShare::Part take(Request& request, std::size_t amount);
  /// Where nothing can wait; empty where there is nothing left for the user.
  FairShare::Part take_at_once(uid_t user, std::size_t amount) { return share_.take(user, amount); }

 private:
  FairShare share_;
  Committer& committer_;
  OnceLog& log_;
  const frame::Clock& clock_;
};

}  // namespace bloscfs::fs
