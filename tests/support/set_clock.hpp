#pragma once
// Clocks for tests: one stands still until a test moves it, and with the other no thread ever
// waits.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "frame/store/clock.hpp"

namespace bloscfs::test {

/// A clock that stands still until move(). A thread that waits with it notices within milliseconds
/// that it was moved. wall() is the system's time plus the total of all moves, since the kernel
/// gives files the system's time. Thread-safe.
class SetClock final : public frame::Clock {
 public:
  SetClock() = default;
  /// Shows the time that another process sets in `moved`: nanoseconds since the clock began.
  explicit SetClock(const std::atomic<std::int64_t>& moved) : moved_(moved) {}

  TimePoint now() const override { return begin_ + moved(); }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(moved());
  }
  void move(std::chrono::nanoseconds time) { own_ += time.count(); }
  Duration before_next_look(TimePoint) const override { return std::chrono::milliseconds(2); }

 private:
  std::chrono::nanoseconds moved() const { return std::chrono::nanoseconds(moved_.load()); }

  const TimePoint begin_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> own_{0};
  const std::atomic<std::int64_t>& moved_ = own_;
};

/// A clock that jumps to the time that a thread waits for. Thread-safe.
class JumpingClock final : public frame::Clock {
 public:
  TimePoint now() const override { return begin_ + passed(); }
  std::chrono::nanoseconds passed() const { return std::chrono::nanoseconds(passed_.load()); }
  Duration before_next_look(TimePoint deadline) const override {
    const auto wanted = (deadline - begin_).count();
    for (auto passed = passed_.load();
         passed < wanted && !passed_.compare_exchange_weak(passed, wanted);) {
    }
    return Duration::zero();
  }

 private:
  const TimePoint begin_ = std::chrono::steady_clock::now();
  mutable std::atomic<std::int64_t> passed_{0};
};

}  // namespace bloscfs::test
