#pragma once
// The time that decides what the program does: when a commit is due, when a failed step is retried,
// how long remembered facts stay valid.

#include <chrono>
#include <condition_variable>

namespace bloscfs::frame::inline store {

/// Returns the time. Code that waits for time to pass, or compares times, uses the Clock it was
/// given. Programs use the system's clock. Tests use one that they set
/// (tests/support/set_clock.hpp). Times that are only displayed or counted, and timeouts of network
/// requests, come from the system directly. Thread-safe.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  /// Never decreases.
  virtual TimePoint now() const { return std::chrono::steady_clock::now(); }
  /// The time for timestamps of files and objects.
  virtual std::chrono::system_clock::time_point wall() const {
    return std::chrono::system_clock::now();
  }

  /// Waits for a notification, or until now() reaches the deadline. May return early, like
  /// std::condition_variable. With a clock that a test sets, a notification can arrive between two
  /// looks at the clock and be lost. The function therefore returns after 50 looks, so that the
  /// caller checks its condition.
  template <typename Condition, typename Lock>
  void wait_until(Condition& condition, Lock& lock, TimePoint deadline) const {
    constexpr int kMostLooks = 50;
    for (int looks = 0; looks < kMostLooks && now() < deadline; ++looks)
      if (condition.wait_for(lock, before_next_look(deadline)) == std::cv_status::no_timeout)
        return;
  }

  /// Returns how long to wait, in system time, before now() is compared with the deadline again.
  virtual Duration before_next_look(TimePoint deadline) const { return deadline - now(); }
};

/// The clock that programs use.
inline const Clock& system_clock() {
  static const Clock clock;
  return clock;
}

}  // namespace bloscfs::frame::inline store
