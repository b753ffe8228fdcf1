#pragma once
// What a thread's waits depend on: what can end them, where the thread notes what it waits for, and
// how long it waits for locks.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "frame/store/clock.hpp"

namespace bloscfs::frame::inline store {

class Interruption;
struct WaitState;

/// The wait settings of one thread. These guards set them while they exist: Interruption, WaitMark,
/// LockTimeout and BeforeLocks.
struct WaitContext {
  const Interruption* interruption = nullptr;  ///< the innermost one; null: nothing ends a wait
  WaitState* state = nullptr;                  ///< where the thread notes its waits; null: nowhere
  Clock::TimePoint locks_until = Clock::TimePoint::max();
  const std::function<void()>* before_locks = nullptr;  ///< null: nothing to call

  /// Returns the calling thread's context.
  static WaitContext& current();
};

/// The clock for waits for locks, and for pauses before a server is asked again.
const Clock& wait_clock();

/// While one exists, wait_clock() is `clock`, in all threads: threads of pools and libraries wait,
/// too. Only one may exist at a time.
class WaitClock {
 public:
  explicit WaitClock(const Clock& clock);
  ~WaitClock();
  WaitClock(const WaitClock&) = delete;
  WaitClock& operator=(const WaitClock&) = delete;
};

enum class WaitReason : std::uint8_t {
  nothing,
  slot,           ///< for a slot: other requests of the same user are being served
  network,        ///< for an answer, or for a free connection
  other_program,  ///< for a program that has locked the file or its sidecar
  commit,         ///< for a commit of the same file by another thread
  room,           ///< for memory for uncommitted data
  memory,         ///< for memory for large work
  other_request,  ///< for another request that makes a value this one needs, too
  disk,           ///< for written data to become durable
  kernel,         ///< for the kernel to write back, or drop, its pages of the file
};

/// Returns the reason as a word for people and programs, such as "network". Empty for `nothing`.
const char* name_of(WaitReason reason);

/// The present reason for which a piece of work waits. One thread at a time does the work. Any
/// thread may look.
struct WaitState {
  std::atomic<WaitReason> reason{WaitReason::nothing};
  std::atomic<std::chrono::steady_clock::rep> since{0};  ///< by the system's steady clock

  void begin(WaitReason what);
};

/// While one exists, its thread is noted as waiting for `reason`. The innermost one counts. Does
/// nothing in a thread that has no WaitState.
class WaitMark {
 public:
  explicit WaitMark(WaitReason reason);
  ~WaitMark();
  WaitMark(const WaitMark&) = delete;
  WaitMark& operator=(const WaitMark&) = delete;

  /// Sets where the thread notes its waits from now on. Null: nowhere. Must not be called during a
  /// wait.
  static void set_wait_state(WaitState* work) { WaitContext::current().state = work; }

 private:
  WaitReason before_ = WaitReason::nothing;
  std::chrono::steady_clock::rep before_since_ = 0;
};

/// While one exists, long waits of its thread call `check` every 100 ms. `check` ends the wait by
/// throwing, for example because the user has interrupted the request. `refuse`, if given, is
/// called before a wait for the network and may throw to prevent it. The innermost one of a thread
/// counts.
class Interruption {
 public:
  /// Users do not notice this delay when they interrupt a request.
  static constexpr std::chrono::milliseconds kCheckInterval{100};

  explicit Interruption(std::function<void()> check, std::function<void()> refuse = {});
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Calls the thread's `check`, which may throw.
  static void check();
  /// To be called before a wait for the network. Calls the thread's `refuse`, which may throw.
  static void before_wait();
  /// Waits on `changed` until `is_over` returns true. The caller holds the mutex of `lock`. If
  /// check() throws, the mutex is released.
  template <typename Predicate>
  static void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   const Predicate& is_over) {
    if (is_over()) return;
    const WaitMark mark(WaitReason::network);
    while (!changed.wait_for(lock, kCheckInterval, is_over)) {
      lock.unlock();
      check();
      lock.lock();
    }
  }
  /// Locks a mutex whose owner may wait for the network.
  static std::unique_lock<std::timed_mutex> lock(std::timed_mutex& mutex);
  /// Waits for `time` by wait_clock(), before a server is asked again.
  static void pause(Clock::Duration time);

 private:
  const std::function<void()> check_, refuse_;
  const Interruption* const outer_;
};

/// While one exists, its thread calls `call` before it waits for a lock of another program. If
/// `call` throws, the lock is not taken. The innermost one of a thread counts.
class BeforeLocks {
 public:
  explicit BeforeLocks(std::function<void()> call);
  ~BeforeLocks() { WaitContext::current().before_locks = outer_; }
  BeforeLocks(const BeforeLocks&) = delete;
  BeforeLocks& operator=(const BeforeLocks&) = delete;

  static void call();

 private:
  const std::function<void()> call_;
  const std::function<void()>* const outer_;
};

/// The default time to wait for a lock.
inline constexpr std::chrono::seconds kLockTimeout{30};

/// Another program or thread has held a lock for longer than this thread waits.
class LockedByOthers : public std::system_error {
 public:
  explicit LockedByOthers(const char* what);
};

/// While one exists, its thread waits at most that long for locks of other programs and threads,
/// for all of them together. An inner one can only shorten the time.
class LockTimeout {
 public:
  /// With zero, the thread takes only free locks.
  explicit LockTimeout(Clock::Duration most);
  ~LockTimeout();
  LockTimeout(const LockTimeout&) = delete;
  LockTimeout& operator=(const LockTimeout&) = delete;

  /// Returns when this thread gives up a wait that begins now and may last `most`.
  static Clock::TimePoint end_of(Clock::Duration most);
  static bool has_ended() { return is_over(WaitContext::current().locks_until); }
  static bool is_over(Clock::TimePoint end) { return wait_clock().now() >= end; }

 private:
  const Clock::TimePoint outer_;
};

/// Sets a lock timeout of 10 seconds for the first two threads of this process that have one at the
/// same time, and half a second for the others. A program that keeps its lock must not block all
/// threads of the mount.
class SharedLockTimeout {
 public:
  SharedLockTimeout();
  ~SharedLockTimeout();
  SharedLockTimeout(const SharedLockTimeout&) = delete;
  SharedLockTimeout& operator=(const SharedLockTimeout&) = delete;

 private:
  const LockTimeout timeout_;
};

/// Pauses between attempts to take a lock that the kernel either grants at once or refuses.
inline constexpr std::chrono::milliseconds kFirstPause{1}, kLongestPause{50};

/// Calls `try_lock` until it returns true. Throws LockedByOthers after the deadline, because a
/// program that never unlocks must not block this thread for ever.
template <typename TryLock>
void lock_until(Clock::TimePoint deadline, const char* what, const TryLock& try_lock) {
  std::optional<WaitMark> mark;
  for (auto pause = kFirstPause; !try_lock(); pause = std::min(2 * pause, kLongestPause)) {
    if (LockTimeout::is_over(deadline)) throw LockedByOthers(what);
    if (!mark) BeforeLocks::call();
    if (!mark) mark.emplace(WaitReason::other_program);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace bloscfs::frame::inline store
