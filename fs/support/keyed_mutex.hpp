#pragma once
// A mutex for each of any number of keys.

#include <cstdint>
#include <set>

#include "frame/store/wait_context.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. The constructor of Lock locks the mutex of one key. It takes a request slot before
/// it waits, and throws NoSlot if none is free.
class KeyedMutex {
 public:
  explicit KeyedMutex(LockLevel level) : level_(level) {}

  class Lock {
   public:
    Lock(Request& request, KeyedMutex& mutex, std::uint64_t key) : mutex_(mutex), key_(key) {
      check_order(this, mutex_.level_);
      mutex_.lock(request, key_);
      note_locked(this, mutex_.level_);
    }
    ~Lock() {
      note_unlocked(this);
      mutex_.unlock(key_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    KeyedMutex& mutex_;
    const std::uint64_t key_;
  };

 private:
  void lock(Request& request, std::uint64_t key) {
    const MutexLock lock(mutex_);
    while (!locked_.insert(key).second) {
      request.need_slot();
      const frame::WaitMark mark(frame::WaitReason::other_request);
      unlocked_.wait(mutex_);
    }
  }
  void unlock(std::uint64_t key) {
    const MutexLock lock(mutex_);
    locked_.erase(key);
    // This condition serves all keys, so all waiting threads are woken.
    unlocked_.notify_all();
  }

  const LockLevel level_;  ///< of the locks of all keys
  Mutex mutex_;
  CondVar unlocked_;
  std::set<std::uint64_t> locked_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
