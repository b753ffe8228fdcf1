#pragma once
// Waiting for a lock that the kernel gives without a time limit, or not at all.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace bloscfs::frame {

inline constexpr std::chrono::milliseconds kFirstPause{1}, kLongestPause{50};

/// Calls `try_lock` until it is true: who never unlocks must not hang us for good. Throws
/// std::system_error(ETIMEDOUT) after the deadline.
template <typename TryLock>
void lock_until(std::chrono::steady_clock::time_point deadline, const char* what,
                const TryLock& try_lock) {
  for (auto pause = kFirstPause; !try_lock(); pause = std::min(2 * pause, kLongestPause)) {
    if (std::chrono::steady_clock::now() >= deadline)
      throw std::system_error(ETIMEDOUT, std::generic_category(), what);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace bloscfs::frame
