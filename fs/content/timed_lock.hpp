#pragma once
// Locks that a thread may hold during long work.

#include <mutex>

#include "frame/store/wait_context.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Takes the mutex. A request takes a slot before it waits, or throws NoSlot. Throws
/// frame::LockedByOthers if the thread's lock timeout is over. For a lock that outlives a scope.
/// Clang's thread-safety analysis does not follow the result, so its users call
/// Mutex::assert_held().
inline std::unique_lock<Mutex> lock_with_timeout(Request& request, Mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  if (frame::LockTimeout::has_ended())
    throw frame::LockedByOthers("another thread holds the lock of the file");
  request.need_slot();
  const frame::WaitMark mark(frame::WaitReason::commit);
  lock.lock();
  return lock;
}

/// Takes the mutex like lock_with_timeout(), for a scope.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) TimedLock {
 public:
  TimedLock(Request& request, Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(lock_with_timeout(request, mutex)) {}
  ~TimedLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) = default;
  TimedLock(const TimedLock&) = delete;
  TimedLock& operator=(const TimedLock&) = delete;

 private:
  std::unique_lock<Mutex> lock_;
};

}  // namespace bloscfs::fs
