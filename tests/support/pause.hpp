#pragma once
// The only sleeps of tests, apart from comes_true(): races with random timing, and simulated slow
// servers, disks and programs.

#include <chrono>
#include <random>
#include <thread>

namespace bloscfs::test {

/// Sleeps for a random time, so that the next event (a kill, another program) comes at any moment.
/// What a test expects must hold for every length of the sleep. To wait until something has
/// happened, use comes_true() or a clock.
template <typename Random>
void pause_at_random(Random& random, std::chrono::microseconds most) {
  std::uniform_int_distribution<std::chrono::microseconds::rep> length(0, most.count());
  std::this_thread::sleep_for(std::chrono::microseconds(length(random)));
}

/// Simulates the time that a server, disk or program takes for its work. A test may rely only on
/// the fact that other threads and programs can work during the delay.
inline void simulate_delay(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }
inline void simulate_delay_until(std::chrono::steady_clock::time_point end) {
  std::this_thread::sleep_until(end);
}

}  // namespace bloscfs::test
