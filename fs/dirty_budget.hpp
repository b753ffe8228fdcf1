#pragma once
// Bounds what all files of a mount hold uncommitted.

#include <cstddef>
#include <functional>
#include <system_error>

#include "fs/stats.hpp"
#include "fs/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class DirtyBudget {
 public:
  /// `limit` in bytes. `press` is called, without a lock, whenever an eighth of it is taken, to
  /// make room soon by what costs little, or if half of it is (`all`), by committing the dirty
  /// files.
  DirtyBudget(std::size_t limit, Stats& stats, std::function<void(bool all)> press)
      : limit_(limit), stats_(stats), press_(std::move(press)) {}

  /// Waits until less than the limit is taken. Throws what a commit meanwhile failed with, unless
  /// others have made room.
  void wait_for_room() EXCLUDES(mutex_);
  /// A file's dirty bytes have changed.
  void change(std::size_t before, std::size_t after) EXCLUDES(mutex_);
  /// A commit has ended; writers that wait look again, or fail with its error.
  void commit_ended(const std::error_code& error) EXCLUDES(mutex_);

 private:
  const std::size_t limit_;
  Stats& stats_;
  const std::function<void(bool all)> press_;
  Mutex mutex_;
  CondVar changed_;
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  std::uint64_t freed_ GUARDED_BY(mutex_) = 0;  ///< how often there was less of a file
  std::uint64_t failures_ GUARDED_BY(mutex_) = 0;
  std::error_code last_error_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
