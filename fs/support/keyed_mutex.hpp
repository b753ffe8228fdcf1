#pragma once
// A lock for each of any number of keys.

#include <cstdint>
#include <set>

#include "fs/support/sync.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

/// Thread-safe. A request waits for a lock in its turn; the constructor of Lock throws NoTurn.
class KeyedMutex {
 public:
  class Lock {
   public:
    Lock(KeyedMutex& mutex, std::uint64_t key) : mutex_(mutex), key_(key) { mutex_.lock(key_); }
    ~Lock() { mutex_.unlock(key_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    KeyedMutex& mutex_;
    const std::uint64_t key_;
  };

 private:
  void lock(std::uint64_t key) {
    const MutexLock lock(mutex_);
    while (!locked_.insert(key).second) {
      TurnAtNeed::need();
      unlocked_.wait(mutex_);
    }
  }
  void unlock(std::uint64_t key) {
    const MutexLock lock(mutex_);
    locked_.erase(key);
    // All are woken: which of them waits for this key nobody knows.
    unlocked_.notify_all();
  }

  Mutex mutex_;
  CondVar unlocked_;
  std::set<std::uint64_t> locked_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
