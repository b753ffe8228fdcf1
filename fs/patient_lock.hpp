#pragma once

#include "frame/lock_patience.hpp"
#include "fs/sync.hpp"

namespace bloscfs::fs {

/// A MutexLock where whoever has the mutex may be waiting for another program: throws
/// frame::LockedByOthers at once in a thread whose patience has ended.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) PatientLock {
 public:
  explicit PatientLock(Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    if (frame::LockPatience::has_ended()) throw frame::LockedByOthers("in another thread's hands");
    mutex_.lock();
  }
  ~PatientLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  PatientLock(const PatientLock&) = delete;
  PatientLock& operator=(const PatientLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace bloscfs::fs
