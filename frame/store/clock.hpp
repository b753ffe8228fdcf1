#pragma once
// The time that decides what the program does: when a commit is due, when a failed step is tried
// again, how long something may be believed.

#include <chrono>
#include <condition_variable>

namespace bloscfs::frame::inline store {

/// Tells the time. Code that waits for time to pass, or compares times, asks the Clock it was
/// given. Programs give it the system's; tests give it one that they set
/// (tests/support/set_clock.hpp). Times that are only shown or counted, and timeouts of network
/// requests, come from the system directly. Thread-safe.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  /// Never goes back.
  virtual TimePoint now() const { return std::chrono::steady_clock::now(); }
  /// The time that files and objects are stamped with.
  virtual std::chrono::system_clock::time_point wall() const {
    return std::chrono::system_clock::now();
  }

  /// Waits once: for a notification, or until now() is the deadline. May return without either,
  /// as std::condition_variable does: a notification may come between two looks at a clock that a
  /// test sets.
  template <typename Condition, typename Lock>
  void wait_until(Condition& condition, Lock& lock, TimePoint deadline) const {
    constexpr int kMostLooks = 50;
    for (int looks = 0; looks < kMostLooks && now() < deadline; ++looks)
      if (condition.wait_for(lock, before_next_look(deadline)) == std::cv_status::no_timeout)
        return;
  }

  /// How long to wait, in the system's time, before now() is compared with the deadline again.
  virtual Duration before_next_look(TimePoint deadline) const { return deadline - now(); }
};

/// The one that programs use.
inline const Clock& system_clock() {
  static const Clock clock;
  return clock;
}

}  // namespace bloscfs::frame::inline store
