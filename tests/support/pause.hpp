#pragma once
// The only sleeps of tests beside comes_true(): races whose timing is drawn at random, and slow
// servers, disks and programs that are simulated.

#include <chrono>
#include <random>
#include <thread>

namespace bloscfs::test {

/// Up to so long: another program, or a kill, comes at any moment. What a test expects must hold
/// for each length, so that none is long enough to let anything happen: for that there are
/// comes_true() and clocks.
template <typename Random>
void pause_at_random(Random& random, std::chrono::microseconds most) {
  std::uniform_int_distribution<std::chrono::microseconds::rep> length(0, most.count());
  std::this_thread::sleep_for(std::chrono::microseconds(length(random)));
}

/// What a simulated server, disk or program takes for something. A test may rely on nothing but
/// that others come to work meanwhile.
inline void simulate_delay(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }
inline void simulate_delay_until(std::chrono::steady_clock::time_point end) {
  std::this_thread::sleep_until(end);
}

}  // namespace bloscfs::test
