#pragma once
// What happens when nobody uses a mount: memory goes back to the system, the watch stops its looks
// each second, and after the idle limit the session ends.

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

  /// To be called at the beginning and at the end of each request. Wakes the watch if it sleeps.
  void note_use() {
    if (sleeps_.load(std::memory_order_relaxed)) wake();
  }

 private:
  using TimePoint = frame::Clock::TimePoint;

  void watch();
  void wake();
  void rest_if_unused();
  /// Frees what is not used any more, and decides whether the watch sleeps. Returns when it is to
  /// look next; max(): when note_use() or set_limit() wakes it.
  TimePoint tidy();

  Mount& mount_;
  const frame::Clock& clock_;
  std::chrono::seconds limit_;
  std::uint64_t requests_ = 0;   ///< Mount::requests() at the last look
  std::uint64_t forgotten_ = 0;  ///< and Mount::forgotten()
  TimePoint since_ = clock_.now();
  bool rests_ = false;
  std::atomic<bool> sleeps_{false};  ///< no looks each second: until a use, or the idle limit

  std::mutex mutex_;
  std::condition_variable condition_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace bloscfs::fs
