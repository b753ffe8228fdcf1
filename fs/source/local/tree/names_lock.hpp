#pragma once
// The lock on names. It is held exclusively while names in SOURCE change. So an operation that
// shares it sees all names as they were before the change, or all as they are after it. All
// operations on names wait for its holder, so nothing that may take long is done under it
// (fs/source/local/tree/names_work.hpp).

#include <atomic>
#include <chrono>
#include <cstdint>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// A shared mutex that measures how long it is held.
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
  /// Returns the time since when the lock is shared, for unlock_shared().
  Clock::time_point lock_shared() BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability()) {
    mutex_.lock_shared();
    return Clock::now();
  }
  void unlock_shared(Clock::time_point since)
      BLOSCFS_THREAD_ATTRIBUTE(release_shared_capability()) {
    note(since);
    mutex_.unlock_shared();
  }

  /// For the thread safety analysis, in functions whose caller holds the lock.
  void assert_alone() const BLOSCFS_THREAD_ATTRIBUTE(assert_capability(this)) {}
  void assert_shared() const BLOSCFS_THREAD_ATTRIBUTE(assert_shared_capability(this)) {}

  /// Returns how many exclusive holds have ended.
  std::uint64_t changes() const { return changes_; }
  /// Returns the longest time that the lock was held, in microseconds.
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
  Clock::time_point since_;  ///< when the exclusive holder got the lock
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<std::uint64_t> longest_ = 0;
};

}  // namespace bloscfs::fs
