#pragma once
// Locks of which whoever has them may have much to do.

#include <mutex>

#include "frame/store/wait_context.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Takes such a lock. A request takes a slot before it waits for the lock, or throws NoSlot; a
/// thread that waits for nothing throws frame::LockedByOthers. For a lock that is to outlive a
/// scope, which the analysis does not follow: who has it says so by assert_held().
inline std::unique_lock<Mutex> lock_in_time(Request& request, Mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  if (frame::LockTimeout::has_ended()) throw frame::LockedByOthers("in another thread's hands");
  request.need_slot();
  const frame::WaitMark mark(frame::WaitReason::commit);
  lock.lock();
  return lock;
}

/// The same for a scope.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) TimedLock {
 public:
  TimedLock(Request& request, Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(lock_in_time(request, mutex)) {}
  ~TimedLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) = default;
  TimedLock(const TimedLock&) = delete;
  TimedLock& operator=(const TimedLock&) = delete;

 private:
  std::unique_lock<Mutex> lock_;
};

}  // namespace bloscfs::fs
