#pragma once
// Waits for mounts that have ended, but may not have written everything yet.

#include <string>
#include <utility>

#include "frame/store/clock.hpp"

namespace bloscfs::fs {

/// Tells the user that a SOURCE which another process holds is waited for. Logs one message: at
/// once where a mount that can write holds SOURCE, since that may last, and names its mountpoint;
/// else, where the holder has only to finish its work, after a second.
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

/// umount(8) returns before the daemon is done. Waits, up to 30 s, while some process keeps `path`,
/// which may not be there yet, or a directory above it locked as a writable mount's SOURCE, unless
/// that is still mounted. Says so after a second.
void wait_for_ended_mounts(const std::string& path,
                           const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
