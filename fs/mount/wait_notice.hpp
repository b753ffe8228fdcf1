#pragma once
// Tells the user that a SOURCE which another process holds is waited for.

#include <string>

#include "frame/store/clock.hpp"

namespace bloscfs::fs {

/// Logs one message: at once where a mount that can write holds SOURCE, since that may last, and
/// names its mountpoint; else, where the holder has only to finish its work, after a second.
class WaitNotice {
 public:
  explicit WaitNotice(std::string source, const frame::Clock& clock = frame::system_clock())
      : source_(std::move(source)), clock_(&clock) {}

  /// To be called before each wait, from one thread.
  void operator()();

 private:
  std::string source_;
  const frame::Clock* clock_;
  frame::Clock::TimePoint began_ = clock_->now();
  bool told_ = false;
};

}  // namespace bloscfs::fs
