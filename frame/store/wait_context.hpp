#pragma once
// What a thread's waits depend on: what ends them, who is told what the thread waits for, and until
// when it waits for locks.

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

/// The facts of one thread. The guards below set them while they live: Interruption, WaitMark and
/// LockTimeout; BeforeLocks.
struct WaitContext {
  const Interruption* interruption = nullptr;  ///< the innermost; null: nothing ends a wait
  WaitState* state = nullptr;                  ///< where waits are noted; null: nowhere
  Clock::TimePoint locks_until = Clock::TimePoint::max();
  const std::function<void()>* before_locks = nullptr;  ///< null: nothing to be done

  /// Of the calling thread.
  static WaitContext& current();
};

/// By which this process waits for locks, and pauses before it asks a server again.
const Clock& wait_clock();

/// While one lives, wait_clock() is `clock`, for all threads: those of pools and of libraries wait,
/// too. One at a time.
class WaitClock {
 public:
  explicit WaitClock(const Clock& clock);
  ~WaitClock();
  WaitClock(const WaitClock&) = delete;
  WaitClock& operator=(const WaitClock&) = delete;
};

enum class WaitReason : std::uint8_t {
  nothing,
  turn,           ///< others of the same user are served
  network,        ///< an answer, or a free connection
  other_program,  ///< has the file, or its sidecar, locked
  commit,         ///< of the same file, by another thread
  room,           ///< for what is not committed yet
  memory,         ///< for large work
  other_request,  ///< makes what this one needs, too
  disk,           ///< that what was written is durable
  kernel,         ///< hands over, or forgets, what it knows of the file
};

/// In words, for people and programs: "network"; empty for `nothing`.
const char* name_of(WaitReason reason);

/// What a piece of work waits for just now. One thread at a time works at it, and any may look.
struct WaitState {
  std::atomic<WaitReason> reason{WaitReason::nothing};
  std::atomic<std::chrono::steady_clock::rep> since{0};  ///< of the system's steady clock

  void begin(WaitReason what);
};

/// While one lives, the thread notes that it waits for `reason`. The innermost one counts. Does
/// nothing in a thread that has no WaitState.
class WaitMark {
 public:
  explicit WaitMark(WaitReason reason);
  ~WaitMark();
  WaitMark(const WaitMark&) = delete;
  WaitMark& operator=(const WaitMark&) = delete;

  /// Where the thread notes its waits from here on; null: nowhere. Not to be called during a wait.
  static void work_at(WaitState* work) { WaitContext::current().state = work; }

 private:
  WaitReason before_ = WaitReason::nothing;
  std::chrono::steady_clock::rep before_since_ = 0;
};

/// While one lives, long waits of its thread call `check` every 100 ms. It ends the wait by
/// throwing: the user who asked may have given up. Where `refuse` is given, it throws before a wait
/// for the network begins. The innermost one of a thread counts.
class Interruption {
 public:
  /// A user who interrupts does not notice this delay.
  static constexpr std::chrono::milliseconds kBetweenChecks{100};

  explicit Interruption(std::function<void()> check, std::function<void()> refuse = {});
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throws what the thread's `check` throws.
  static void check();
  /// To be called before a wait for the network. Throws what the thread's `refuse` throws.
  static void before_wait();
  /// Waits for `changed`, with the mutex of `lock` held, until `is_over`. If check() throws, the
  /// mutex is free.
  template <typename Predicate>
  static void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   const Predicate& is_over) {
    if (is_over()) return;
    const WaitMark mark(WaitReason::network);
    while (!changed.wait_for(lock, kBetweenChecks, is_over)) {
      lock.unlock();
      check();
      lock.lock();
    }
  }
  /// Takes a mutex whose owner may wait for the network.
  static std::unique_lock<std::timed_mutex> lock(std::timed_mutex& mutex);
  /// Lets so much time pass by wait_clock(), before a server is asked again.
  static void pause(Clock::Duration time);

 private:
  const std::function<void()> check_, refuse_;
  const Interruption* const outer_;
};

/// While one lives, its thread calls `call` before it waits for a lock of another program. If that
/// throws, the lock is not taken. The innermost one of a thread counts.
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

/// How long one waits for a lock, unless said otherwise.
inline constexpr std::chrono::seconds kLockTimeout{30};

/// Somebody holds a lock for longer than this thread waits.
class LockedByOthers : public std::system_error {
 public:
  explicit LockedByOthers(const char* what);
};

/// While one lives, its thread waits at most that long for locks of other programs and threads,
/// for all of them together. An inner one can only shorten that.
class LockTimeout {
 public:
  /// Zero: the thread takes free locks only.
  explicit LockTimeout(Clock::Duration most);
  ~LockTimeout();
  LockTimeout(const LockTimeout&) = delete;
  LockTimeout& operator=(const LockTimeout&) = delete;

  /// When this thread gives up a wait that begins now and lasts that long at most.
  static Clock::TimePoint end_of(Clock::Duration most);
  static bool has_ended() { return is_over(WaitContext::current().locks_until); }
  static bool is_over(Clock::TimePoint end) { return wait_clock().now() >= end; }

 private:
  const Clock::TimePoint outer_;
};

/// 10 seconds for the first two threads of this process that have one at the same time, half a
/// second for all more: a program that keeps its lock must not take every thread of the mount.
class SharedLockTimeout {
 public:
  SharedLockTimeout();
  ~SharedLockTimeout();
  SharedLockTimeout(const SharedLockTimeout&) = delete;
  SharedLockTimeout& operator=(const SharedLockTimeout&) = delete;

 private:
  const LockTimeout timeout_;
};

/// Between tries to take a lock that the kernel gives at once or never.
inline constexpr std::chrono::milliseconds kFirstPause{1}, kLongestPause{50};

/// Calls `try_lock` until it is true. Throws LockedByOthers after the deadline: a program that
/// never unlocks must not stop this thread for good.
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
