#pragma once

#include "frame/store/lock_patience.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

/// A MutexLock where whoever has the mutex may have much to do: a request waits for that in its
/// turn (fs/support/turns.hpp), and a thread that waits for nothing throws frame::LockedByOthers.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) PatientLock {
 public:
  explicit PatientLock(Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    if (frame::LockPatience::has_ended()) throw frame::LockedByOthers("in another thread's hands");
    TurnAtNeed::need();
    mutex_.lock();
  }
  ~PatientLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  PatientLock(const PatientLock&) = delete;
  PatientLock& operator=(const PatientLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace bloscfs::fs
