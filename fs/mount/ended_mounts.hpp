#pragma once
// Waits for mounts that were unmounted, but whose daemons may still be writing.

#include <string>
#include <utility>

#include "frame/store/clock.hpp"

namespace bloscfs::fs {

/// Tells the user that the daemon waits for another process, which holds SOURCE. Logs one message.
/// If a writable mount holds SOURCE, logs at once and names the mountpoint, since the wait may be
/// long. Otherwise the holder only has to finish its work, so it logs after one second.
class WaitNotice {
 public:
  explicit WaitNotice(std::string source, const frame::Clock& clock = frame::system_clock())
      : source_(std::move(source)), clock_(&clock) {}

  /// To be called before each wait, always from the same thread.
  void operator()();

 private:
  std::string source_;
  const frame::Clock* clock_;
  frame::Clock::TimePoint began_ = clock_->now();
  bool was_notified_ = false;
};

/// Waits, up to 30 s, for a daemon that is still at work after umount(8) has returned. Waits while
/// another process has locked `path`, or a directory above it, as a writable mount's SOURCE. Does
/// not wait for a SOURCE that is still mounted. `path` may not exist yet. Logs a message after one
/// second.
void wait_for_ended_mounts(const std::string& path,
                           const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
