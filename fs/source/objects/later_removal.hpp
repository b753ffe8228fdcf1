#pragma once
// Objects that nobody needs any more, and that readers on other hosts may still be reading.

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "frame/store/store_calls.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Removes them after a while. What is left when this ends stays for `b2frame gc`: a store that
/// does not answer keeps no unmount waiting. Thread-safe.
class LaterRemoval {
 public:
  LaterRemoval(std::shared_ptr<frame::ObjectTree> tree, std::chrono::milliseconds delay,
               const frame::Clock& clock)
      : tree_(std::move(tree)), delay_(delay), clock_(clock) {}

  void add(const std::string& path) {
    const MutexLock lock(mutex_);
    due_.emplace_back(clock_.now() + delay_, path);
  }

  /// Begins to remove what is due, unless it is still removing what was due before. True if any is
  /// left for later calls.
  bool begin_due() {
    const MutexLock lock(mutex_);
    if (left_ > 0) return true;
    for (begun_.clear(); !due_.empty() && due_.front().first <= clock_.now(); due_.pop_front()) {
      left_++;
      try {
        begun_.push_back(calls_.begin([this, path = due_.front().second] { remove(path); }));
      } catch (const std::system_error&) {
        left_--;  // no thread can be made
        return true;
      }
    }
    return !due_.empty() || left_ > 0;
  }

 private:
  /// Readers have the other connections.
  static constexpr unsigned kAtOnce = 4;

  void remove(const std::string& path) {
    try {
      tree_->remove(path, {});
    } catch (const std::exception&) {
      // It is found as left over.
    }
    left_--;
  }

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::chrono::milliseconds delay_;
  const frame::Clock& clock_;
  Mutex mutex_;
  std::deque<std::pair<frame::Clock::TimePoint, std::string>> due_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> left_{0};  ///< of those that were begun
  std::vector<frame::StoreCalls::Pending> begun_ GUARDED_BY(mutex_);
  frame::StoreCalls calls_{kAtOnce};
};

}  // namespace bloscfs::fs
