#pragma once
// Locks of which whoever has them may have much to do.

#include <mutex>

#include "frame/store/wait_context.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

/// Takes such a lock: a request waits for it in its turn (fs/support/turns.hpp), and a thread that
/// waits for nothing throws frame::LockedByOthers.
inline std::unique_lock<Mutex> lock_patiently(Mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  if (frame::LockPatience::has_ended()) throw frame::LockedByOthers("in another thread's hands");
  TurnAtNeed::need();
  const frame::WaitMark mark(frame::WaitReason::commit);
  lock.lock();
  return lock;
}

/// The same for a scope.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) PatientLock {
 public:
  explicit PatientLock(Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(lock_patiently(mutex)) {}
  ~PatientLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) = default;
  PatientLock(const PatientLock&) = delete;
  PatientLock& operator=(const PatientLock&) = delete;

 private:
  std::unique_lock<Mutex> lock_;
};

}  // namespace bloscfs::fs
