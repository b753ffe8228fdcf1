#pragma once
// How long a thread waits for locks that other programs, or other threads, hold: what serves many
// files must not wait for each.

#include <chrono>
#include <system_error>

namespace bloscfs::frame::inline store {

/// How long one waits for a lock, unless said otherwise.
inline constexpr std::chrono::seconds kLockPatience{30};

/// Somebody holds a lock for longer than this thread waits.
class LockedByOthers : public std::system_error {
 public:
  explicit LockedByOthers(const char* what);
};

/// Somebody who has to wait and is not alone in that: but few in this process may wait long, since
/// the others would keep the threads that serve other files.
class CountedPatience {
 public:
  CountedPatience();
  ~CountedPatience();
  CountedPatience(const CountedPatience&) = delete;
  CountedPatience& operator=(const CountedPatience&) = delete;
  /// 10 s, or half a second.
  std::chrono::milliseconds time() const { return time_; }

 private:
  std::chrono::milliseconds time_;
};

/// While one lives, its thread waits so long for all such locks together. One within another can
/// only make that less.
class LockPatience {
 public:
  using Clock = std::chrono::steady_clock;

  /// Zero: what is held is not waited for.
  explicit LockPatience(Clock::duration most);
  ~LockPatience();
  LockPatience(const LockPatience&) = delete;
  LockPatience& operator=(const LockPatience&) = delete;

  /// When this thread gives up a wait that begins now and lasts that long at most.
  static Clock::time_point end_of(Clock::duration most);
  static bool has_ended() { return end_of(Clock::duration::max()) <= Clock::now(); }

 private:
  const Clock::time_point outer_;
};

}  // namespace bloscfs::frame::inline store
