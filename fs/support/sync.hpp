#pragma once
// Locks that clang's thread-safety analysis understands.

#include <condition_variable>
#include <mutex>
#include <system_error>

#include <pthread.h>

#include "frame/store/clock.hpp"
#include "fs/support/lock_level.hpp"

#if defined(__clang__)
#define BLOSCFS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define BLOSCFS_THREAD_ATTRIBUTE(x)
#endif

#define GUARDED_BY(x) BLOSCFS_THREAD_ATTRIBUTE(guarded_by(x))
#define REQUIRES(...) BLOSCFS_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) BLOSCFS_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) BLOSCFS_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace bloscfs::fs {

class BLOSCFS_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  explicit Mutex(LockLevel level = LockLevel::leaf) : level_(level) {}

  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) {
    check_order(this, level_);
    mutex_.lock();
    note_locked(this, level_);
  }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) {
    note_unlocked(this);
    mutex_.unlock();
  }
  bool try_lock() BLOSCFS_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    const bool is_locked = mutex_.try_lock();
    if (is_locked) note_locked(this, level_);
    return is_locked;
  }
  /// Tells the analysis that the mutex is held, for a caller that keeps the lock in a member.
  void assert_held() const BLOSCFS_THREAD_ATTRIBUTE(assert_capability(this)) {}

 private:
  friend class CondVar;
  const LockLevel level_;
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

/// Wake-ups may be spurious: callers must check their condition in a loop.
class CondVar {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Returns at the latest when `clock` reaches the deadline.
  void wait_until(Mutex& mutex, const frame::Clock& clock, frame::Clock::TimePoint deadline)
      REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    clock.wait_until(condition_, lock, deadline);
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

/// Many readers or one writer. A waiting writer goes before later readers, so a thread must not
/// take the lock twice. std::shared_mutex does not promise that.
class BLOSCFS_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  explicit SharedMutex(LockLevel level = LockLevel::leaf) : level_(level) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~SharedMutex() { pthread_rwlock_destroy(&lock_); }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) {
    check_order(this, level_);
    require(pthread_rwlock_wrlock(&lock_));
    note_locked(this, level_);
  }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) {
    note_unlocked(this);
    pthread_rwlock_unlock(&lock_);
  }
  void lock_shared() BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability()) {
    check_order(this, level_);
    require(pthread_rwlock_rdlock(&lock_));
    note_locked(this, level_);
  }
  bool try_lock_shared() BLOSCFS_THREAD_ATTRIBUTE(try_acquire_shared_capability(true)) {
    const bool is_locked = pthread_rwlock_tryrdlock(&lock_) == 0;
    if (is_locked) note_locked(this, level_);
    return is_locked;
  }
  void unlock_shared() BLOSCFS_THREAD_ATTRIBUTE(release_shared_capability()) {
    note_unlocked(this);
    pthread_rwlock_unlock(&lock_);
  }

 private:
  /// Throws, so that a thread that takes the lock twice does not go on without it.
  static void require(int error) {
    if (error != 0) throw std::system_error(error, std::generic_category(), "lock");
  }

  const LockLevel level_;
  pthread_rwlock_t lock_;
};

class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~WriteLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReadLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock_shared(); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace bloscfs::fs
