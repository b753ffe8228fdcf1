#pragma once
// A mutex that clang's thread-safety analysis understands.

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define BLOSCFS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define BLOSCFS_THREAD_ATTRIBUTE(x)
#endif

#define GUARDED_BY(x) BLOSCFS_THREAD_ATTRIBUTE(guarded_by(x))
#define REQUIRES(...) BLOSCFS_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) BLOSCFS_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace bloscfs::fs {

class BLOSCFS_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// One owner, or any number of them that change nothing.
class BLOSCFS_THREAD_ATTRIBUTE(capability("shared_mutex")) SharedMutex {
 public:
  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  void lock_shared() BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability()) { mutex_.lock_shared(); }
  void unlock_shared() BLOSCFS_THREAD_ATTRIBUTE(release_shared_capability()) {
    mutex_.unlock_shared();
  }

 private:
  std::shared_mutex mutex_;
};

class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~SharedLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Waits must loop on their condition: wake-ups may be spurious.
class CondVar {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  template <typename Duration>
  void wait_for(Mutex& mutex, Duration time) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, time);
    lock.release();
  }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace bloscfs::fs
