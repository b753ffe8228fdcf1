#pragma once
// What happens when nobody uses a mount: memory goes back to the system, nothing wakes the process
// any more, and after the time that was asked for the session ends.

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
  void set_limit(std::chrono::seconds limit);
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

  /// To be called for each request.
  void note_use() {
    if (sleeps_.load(std::memory_order_relaxed)) wake();
  }

 private:
  using TimePoint = frame::Clock::TimePoint;

  void watch();
  void wake();
  void rest_if_unused();
  /// When it is to look again; max(): once the mount is used.
  TimePoint next_look(bool has_work);

  Mount& mount_;
  const frame::Clock& clock_;
  std::chrono::seconds limit_;
  std::uint64_t requests_ = 0;  ///< when somebody was last seen to read or write
  TimePoint since_ = clock_.now();
  bool rests_ = false;
  std::atomic<bool> sleeps_{false};  ///< until the mount is used, or ends for lack of use

  std::mutex mutex_;
  std::condition_variable condition_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace bloscfs::fs
