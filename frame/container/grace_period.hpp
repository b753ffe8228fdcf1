#pragma once
// How long superseded space waits for readers.

#include <chrono>

#include "frame/store/clock.hpp"

namespace bloscfs::frame::inline container {

/// The clock must outlive the object.
struct GracePeriod {
  GracePeriod() = default;
  template <typename Rep, typename Period>
  GracePeriod(std::chrono::duration<Rep, Period> wait, const Clock& by = system_clock())
      : time(wait), clock(&by) {}

  std::chrono::milliseconds time{};
  const Clock* clock = &system_clock();
};

}  // namespace bloscfs::frame::inline container
