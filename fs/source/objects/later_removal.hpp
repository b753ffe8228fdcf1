#pragma once
// Objects that nobody needs any more, and that readers on other hosts may still be reading.

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "frame/store/store_calls.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Removes them after a while, in a thread of its own, which begins with the first. What is left
/// when this ends stays for `b2frame gc`. Thread-safe.
class LaterRemoval {
 public:
  LaterRemoval(std::shared_ptr<frame::ObjectTree> tree, std::chrono::milliseconds delay,
               const frame::Clock& clock)
      : tree_(std::move(tree)), delay_(delay), clock_(clock) {}
  ~LaterRemoval();
  LaterRemoval(const LaterRemoval&) = delete;
  LaterRemoval& operator=(const LaterRemoval&) = delete;

  void add(const std::string& path) EXCLUDES(mutex_);

 private:
  /// Readers have the other connections.
  static constexpr unsigned kAtOnce = 4;

  void work() EXCLUDES(mutex_);
  void remove(const std::string& path);

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::chrono::milliseconds delay_;
  const frame::Clock& clock_;
  frame::StoreCalls calls_{kAtOnce};
  Mutex mutex_;
  CondVar wake_;
  std::deque<std::pair<frame::Clock::TimePoint, std::string>> due_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
