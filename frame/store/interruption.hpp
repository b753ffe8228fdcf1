#pragma once
// What ends a thread's wait for others: whoever asked may have given up meanwhile.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "frame/store/wait_mark.hpp"

namespace bloscfs::frame::inline store {

/// While one lives, long waits of its thread ask `check` now and then, which ends them by throwing;
/// or do not begin, where `refuse` is not empty, which throws.
/// One at a time in a thread counts, the innermost.
class Interruption {
 public:
  /// How often: a user who interrupts does not feel it.
  static constexpr std::chrono::milliseconds kBetweenChecks{100};

  explicit Interruption(std::function<void()> check, std::function<void()> refuse = {});
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throws what the thread's check throws. Without one nothing happens.
  static void check();
  /// Called before a wait for what is far away.
  static void before_wait();
  /// True where check() may do something.
  static bool is_possible() { return innermost() != nullptr; }
  /// Waits for `changed`, with the mutex of `lock` held, until `is_over`; or throws what the
  /// thread's check throws, with the mutex free.
  template <typename Predicate>
  static void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   const Predicate& is_over) {
    if (is_over()) return;
    const WaitMark mark(WaitReason::network);
    if (!is_possible()) changed.wait(lock, is_over);
    while (!changed.wait_for(lock, kBetweenChecks, is_over)) {
      lock.unlock();
      check();
      lock.lock();
    }
  }
  /// Takes a mutex whose owner may be waiting for others; or throws as above.
  static std::unique_lock<std::timed_mutex> lock(std::timed_mutex& mutex);

 private:
  const std::function<void()> check_, refuse_;
  const Interruption* const outer_;

  static const Interruption*& innermost();
};

}  // namespace bloscfs::frame::inline store
