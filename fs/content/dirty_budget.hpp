#pragma once
// Bounds what all files of a mount hold uncommitted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <system_error>
#include <unordered_map>

#include <sys/types.h>

#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Each user may have three times what is left of the limit, which is three quarters
/// of it for one alone: whose files cannot be committed leaves others room to go on.
class DirtyBudget {
 public:
  /// `limit` in bytes. `press` is called, without a lock, whenever an eighth of it is taken, to
  /// make room soon by what costs little, or if half of it is (`all`), by committing the dirty
  /// files.
  DirtyBudget(std::size_t limit, Stats& stats, std::function<void(bool all)> press)
      : stats_(stats), press_(std::move(press)), limit_(limit) {
    stats_.dirty_limit = limit;
  }

  void set_limit(std::size_t limit) EXCLUDES(mutex_);
  /// Waits until the user has less than his part. Throws what a commit of a file of his has failed
  /// with meanwhile, unless others have made room.
  void wait_for_room(uid_t user) EXCLUDES(mutex_);
  /// The dirty bytes of a file that counts to that user have changed.
  void change(uid_t user, std::size_t before, std::size_t after) EXCLUDES(mutex_);
  /// A commit of a user's file has ended; writers that wait look again, or fail with its error.
  void commit_ended(uid_t user, const std::error_code& error) EXCLUDES(mutex_);

 private:
  struct User {
    std::size_t taken = 0;
    std::uint64_t freed = 0;  ///< how often there was less of a file
    std::uint64_t failures = 0;
    std::error_code last_error;
  };
  bool has_room(const User& user) const REQUIRES(mutex_);

  Stats& stats_;
  const std::function<void(bool all)> press_;
  Mutex mutex_;
  CondVar changed_;
  std::size_t limit_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  /// Those who have something, and those who wait.
  std::unordered_map<uid_t, User> users_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
