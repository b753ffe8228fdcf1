#pragma once
// Polls until a condition holds. Tests have no other polling loop.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

namespace bloscfs::test {

/// True if `condition` holds within `limit`. The limit only ends a test that would hang. A test
/// that passes never waits for the limit, and no test may rely on it to bound a duration.
template <typename Condition>
bool comes_true(Condition condition,
                std::chrono::duration<double> limit = std::chrono::minutes(1)) {
  constexpr std::chrono::milliseconds kLongestPause{10};
  const auto end = std::chrono::steady_clock::now() + limit;
  for (std::chrono::milliseconds pause{1}; !condition();
       pause = std::min(2 * pause, kLongestPause)) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    std::this_thread::sleep_for(pause);
  }
  return true;
}

/// Waits until the kernel's file time advances. A file that changes after the call has a later
/// time than each file that changed before it.
inline void await_file_time_step() {
  const auto step = [] {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  const auto before = step();
  comes_true([&] { return step() != before; });
}

}  // namespace bloscfs::test
