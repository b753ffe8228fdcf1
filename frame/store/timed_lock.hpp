#pragma once
// Waiting for a lock that the kernel gives without a time limit, or not at all.

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "frame/store/lock_patience.hpp"
#include "frame/store/wait_mark.hpp"

namespace bloscfs::frame::inline store {

inline constexpr std::chrono::milliseconds kFirstPause{1}, kLongestPause{50};

/// Calls `try_lock` until it is true: who never unlocks must not hang us for good. Throws
/// LockedByOthers after the deadline.
template <typename TryLock>
void lock_until(LockPatience::Clock::time_point deadline, const char* what,
                const TryLock& try_lock) {
  std::optional<WaitMark> mark;
  for (auto pause = kFirstPause; !try_lock(); pause = std::min(2 * pause, kLongestPause)) {
    if (LockPatience::Clock::now() >= deadline) throw LockedByOthers(what);
    if (!mark) mark.emplace(WaitReason::other_program);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace bloscfs::frame::inline store
