#pragma once
// Saves resources while a mount is unused: returns memory to the system, stops checking each
// second, and ends the session after the idle limit.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "frame/store/clock.hpp"
#include "fs/mount/mount.hpp"

namespace bloscfs::fs {

/// Watches the mount from a thread of its own, from construction to destruction.
class IdleWatch {
 public:
  /// Sends this process SIGTERM after no file was open for `limit`, and again each `limit`; never
  /// if that is zero. The session ends unless a process uses the mount.
  IdleWatch(Mount& mount, std::chrono::seconds limit,
            const frame::Clock& clock = frame::system_clock());
  ~IdleWatch();
  void set_limit(std::chrono::seconds limit);
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

  /// To be called at the beginning and at the end of each request. Wakes the watch if it sleeps.
  void note_use() {
    if (is_sleeping_.load(std::memory_order_relaxed)) wake();
  }

 private:
  using TimePoint = frame::Clock::TimePoint;

  void watch();
  void wake();
  void rest_if_unused();
  /// Frees what is no longer used, and decides whether the watch sleeps. Returns the time of the
  /// next check, or max() if only note_use() or set_limit() wakes the watch.
  TimePoint tidy();
  /// The time without an open file, or since SIGTERM was sent if that is less.
  frame::Clock::Duration idle_time() const {
    return std::min<frame::Clock::Duration>(mount_.idle_time(), clock_.now() - asked_);
  }

  Mount& mount_;
  const frame::Clock& clock_;
  std::chrono::seconds limit_;
  std::uint64_t requests_ = 0;            ///< Mount::requests() at the last check
  std::uint64_t forgotten_ = 0;           ///< Mount::forgotten() at the last check
  TimePoint since_ = clock_.now();        ///< no use since then, as far as the checks have seen
  TimePoint asked_ = clock_.now();        ///< when SIGTERM was sent last
  bool is_resting_ = false;               ///< Mount::rest() was called, and no use has followed
  std::atomic<bool> is_sleeping_{false};  ///< no checks each second, until a use or the idle limit

  std::mutex mutex_;
  std::condition_variable condition_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace bloscfs::fs
