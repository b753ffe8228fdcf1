#pragma once
// What happens when nobody uses a mount: memory goes back to the system, and after the time that
// was asked for the session ends.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "frame/store/clock.hpp"
#include "fs/mount/mount.hpp"

namespace bloscfs::fs {

/// Looks on while it lives.
class IdleWatch {
 public:
  /// `limit`: how long no file may be open before the session is ended; zero: for ever.
  IdleWatch(Mount& mount, std::chrono::seconds limit,
            const frame::Clock& clock = frame::system_clock());
  ~IdleWatch();
  void set_limit(std::chrono::seconds limit) { limit_ = limit; }
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

 private:
  void watch();
  void rest_if_unused();

  Mount& mount_;
  const frame::Clock& clock_;
  std::atomic<std::chrono::seconds> limit_;
  std::uint64_t requests_ = 0;  ///< when somebody was last seen to read or write
  frame::Clock::TimePoint since_ = clock_.now();
  bool rests_ = false;

  std::mutex mutex_;
  std::condition_variable condition_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace bloscfs::fs
