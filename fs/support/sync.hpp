#pragma once
// Locks that clang's thread-safety analysis understands.

#include <condition_variable>
#include <mutex>

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
  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() BLOSCFS_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }
  /// For the analysis, where a lock that is a member of the caller holds it.
  void assert_held() const BLOSCFS_THREAD_ATTRIBUTE(assert_capability(this)) {}

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

/// Many readers or one writer. A writer that waits goes before readers that come later, so a
/// thread must not take it twice.
class BLOSCFS_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  void lock() BLOSCFS_THREAD_ATTRIBUTE(acquire_capability()) {
    std::unique_lock lock(mutex_);
    writers_waiting_++;
    changed_.wait(lock, [this] { return !writing_ && readers_ == 0; });
    writers_waiting_--;
    writing_ = true;
  }
  void unlock() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    changed_.notify_all();
  }
  void lock_shared() BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !writing_ && writers_waiting_ == 0; });
    readers_++;
  }
  bool try_lock_shared() BLOSCFS_THREAD_ATTRIBUTE(try_acquire_shared_capability(true)) {
    const std::lock_guard lock(mutex_);
    if (writing_ || writers_waiting_ != 0) return false;
    readers_++;
    return true;
  }
  void unlock_shared() BLOSCFS_THREAD_ATTRIBUTE(release_shared_capability()) {
    const std::lock_guard lock(mutex_);
    if (--readers_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int readers_ = 0;
  int writers_waiting_ = 0;
  bool writing_ = false;
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
