#pragma once
// The lock on names: held alone while names in SOURCE change, so that an operation that shares it
// sees all names as they were before the change, or all as they are after it. Everybody waits for
// its holder: nothing that may take long is done under it (fs/source/local/tree/names_work.hpp).

#include <atomic>
#include <chrono>
#include <cstdint>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Knows how long it was held at the longest.
class BLOSCFS_THREAD_ATTRIBUTE(capability("mutex")) NamesLock {
 public:
  using Clock = std::chrono::steady_clock;

  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) {
    mutex_.lock();
    since_ = Clock::now();
  }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) {
    note(since_);
    changes_++;
    mutex_.unlock();
  }
  /// Gives the time from which it is shared, for unlock_shared().
  Clock::time_point lock_shared() BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability()) {
    mutex_.lock_shared();
    return Clock::now();
  }
  void unlock_shared(Clock::time_point since)
      BLOSCFS_THREAD_ATTRIBUTE(release_shared_capability()) {
    note(since);
    mutex_.unlock_shared();
  }

  /// For the analysis, where a lock that is a member of the caller holds it, or who called.
  void assert_alone() const BLOSCFS_THREAD_ATTRIBUTE(assert_capability(this)) {}
  void assert_shared() const BLOSCFS_THREAD_ATTRIBUTE(assert_shared_capability(this)) {}

  /// How often it was held alone.
  std::uint64_t changes() const { return changes_; }
  /// In microseconds.
  std::uint64_t longest_hold() const { return longest_; }

 private:
  void note(Clock::time_point since) {
    const auto held = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since);
    const auto time = static_cast<std::uint64_t>(held.count());
    std::uint64_t longest = longest_;
    while (time > longest && !longest_.compare_exchange_weak(longest, time)) {
    }
  }

  SharedMutex mutex_{LockLevel::names};
  Clock::time_point since_;  ///< of the thread that has it alone
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<std::uint64_t> longest_ = 0;
};

}  // namespace bloscfs::fs
