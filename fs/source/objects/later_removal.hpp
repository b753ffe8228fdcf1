#pragma once
// Deletes objects of an object store in the background.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "frame/store/store_calls.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Seconds since the host was started, suspended time included.
inline std::chrono::seconds since_boot() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec);
}

/// Deletes objects in a thread of its own, many with one request. Some objects stay: those that
/// cannot be deleted, and those that are not due when the LaterRemoval is destroyed. `b2frame gc`
/// finds them. Thread-safe.
class LaterRemoval {
 public:
  using SinceBoot = std::function<std::chrono::seconds()>;

  LaterRemoval(std::shared_ptr<frame::ObjectTree> tree, std::chrono::milliseconds delay,
               const frame::Clock& clock, SinceBoot now = since_boot)
      : tree_(std::move(tree)), delay_(delay), clock_(clock), since_boot_(std::move(now)) {}
  /// Sends the deletions that are due, one request for each thousand objects, and waits for them.
  ~LaterRemoval() {
    {
      const MutexLock lock(mutex_);
      collect();
    }
    calling_.wait_for_end();
  }
  LaterRemoval(const LaterRemoval&) = delete;
  LaterRemoval& operator=(const LaterRemoval&) = delete;

  /// Deletes the object after the delay, because readers on other hosts may still need it.
  void add(const std::string& path) {
    const MutexLock lock(mutex_);
    due_.emplace_back(clock_.now() + delay_, path);
  }

  /// Deletes `tombstones`, which were just put, at once. Deletes the objects in `used` when `user`,
  /// a reader in this process, has expired.
  void add(std::vector<std::string> tombstones, std::vector<std::string> used,
           const std::weak_ptr<const void>& user) {
    const MutexLock lock(mutex_);
    for (std::string& path : tombstones) tombstones_.emplace_back(since_boot_(), std::move(path));
    for (std::string& path : used) used_.emplace_back(user, std::move(path));
    collect();
  }

  /// Starts the deletions that are due. Returns true if others remain.
  bool begin_due() {
    const MutexLock lock(mutex_);
    for (; !due_.empty() && due_.front().first <= clock_.now(); due_.pop_front())
      now_.push_back(std::move(due_.front().second));
    collect();
    return !due_.empty() || !used_.empty() || is_calling_;
  }

  /// True if a DELETE of this object is under way, or about to be sent.
  bool is_removing(const std::string& path) {
    const MutexLock lock(mutex_);
    return std::find(sent_.begin(), sent_.end(), path) != sent_.end() ||
           std::any_of(tombstones_.begin(), tombstones_.end(),
                       [&](const auto& tombstone) { return tombstone.second == path; });
  }

  /// Waits until no deletion below the directory is pending. Waits at most kCloseTimeout for
  /// readers to expire, because the kernel reports a close with a delay.
  void wait_for(Request& request, const std::string& directory) {
    const auto is_below = [&](const std::string& path) {
      return path.starts_with(directory + "/");
    };
    const auto is_used_below = [&](const auto& used) { return is_below(used.second); };
    // Takes the real time, not that of clock_: clock_ stands still in tests, while the other
    // threads run in real time.
    const auto timeout = std::chrono::steady_clock::now() + kCloseTimeout;
    for (;; request.check()) {
      const MutexLock lock(mutex_);
      collect();
      const bool is_used = std::any_of(used_.begin(), used_.end(), is_used_below);
      if (!(is_used && std::chrono::steady_clock::now() < timeout) &&
          std::none_of(now_.begin(), now_.end(), is_below) &&
          std::none_of(tombstones_.begin(), tombstones_.end(), is_used_below) &&
          std::none_of(sent_.begin(), sent_.end(), is_below))
        return;
      changed_.wait_for(mutex_, kPollInterval);
    }
  }

 private:
  static constexpr std::chrono::milliseconds kCloseTimeout{500}, kPollInterval{20};
  /// The longest time from the PUT of a tombstone to its DELETE. A store accepts a request for 15
  /// minutes after it was signed, and other hosts overwrite a tombstone after 20 minutes. A DELETE
  /// that is sent later than this could delete a new file.
  static constexpr std::chrono::seconds kMostWait{180};

  /// Makes the objects whose readers have expired due, and starts the thread.
  void collect() REQUIRES(mutex_) {
    const auto in_use = std::stable_partition(
        used_.begin(), used_.end(), [](const auto& used) { return used.first.expired(); });
    for (auto used = used_.begin(); used != in_use; ++used) now_.push_back(std::move(used->second));
    used_.erase(used_.begin(), in_use);
    begin();
  }

  void begin() REQUIRES(mutex_) {
    if (is_calling_ || (now_.empty() && tombstones_.empty())) return;
    try {
      calling_ = calls_.begin([this] { remove(); });
      is_calling_ = true;
    } catch (const std::system_error&) {
      // The thread cannot be started. begin_due() tries again.
    }
  }

  void remove() {
    for (std::vector<std::string> paths; !(paths = next()).empty();) {
      try {
        tree_->remove_all(paths);
      } catch (const std::exception&) {
        // `b2frame gc` finds the objects.
      }
    }
  }

  /// Returns the objects to delete with the next request. Empty: the thread ends.
  std::vector<std::string> next() {
    const MutexLock lock(mutex_);
    sent_ = std::exchange(now_, {});
    for (auto& [put, path] : std::exchange(tombstones_, {}))
      if (since_boot_() - put <= kMostWait) sent_.push_back(std::move(path));
    is_calling_ = !sent_.empty();
    changed_.notify_all();
    return sent_;
  }

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::chrono::milliseconds delay_;
  const frame::Clock& clock_;
  const SinceBoot since_boot_;
  Mutex mutex_;
  CondVar changed_;
  // Objects to delete at a time; when a reader has expired; at once, with the time of their PUT.
  std::deque<std::pair<frame::Clock::TimePoint, std::string>> due_ GUARDED_BY(mutex_);
  std::vector<std::pair<std::weak_ptr<const void>, std::string>> used_ GUARDED_BY(mutex_);
  std::vector<std::pair<std::chrono::seconds, std::string>> tombstones_ GUARDED_BY(mutex_);
  // Objects that the next request deletes, and those that the present request deletes.
  std::vector<std::string> now_ GUARDED_BY(mutex_), sent_ GUARDED_BY(mutex_);
  bool is_calling_ GUARDED_BY(mutex_) = false;
  frame::StoreCalls::Pending calling_ GUARDED_BY(mutex_);
  frame::StoreCalls calls_{1};
};

}  // namespace bloscfs::fs
