#include "fs/mount/idle_watch.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kCheck{1};
/// After this time without use, the block cache is freed. A user who comes back later finds the
/// data in the kernel's page cache, or has it decoded again.
constexpr std::chrono::seconds kRest{20};

}  // namespace

IdleWatch::IdleWatch(Mount& mount, std::chrono::seconds limit, const frame::Clock& clock)
    : mount_(mount), clock_(clock), limit_(limit), thread_([this] { watch(); }) {}

IdleWatch::~IdleWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake();
  thread_.join();
}

void IdleWatch::set_limit(std::chrono::seconds limit) {
  {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
  }
  wake();
}

void IdleWatch::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_sleeping_ = false;
  }
  condition_.notify_all();
}

void IdleWatch::watch() {
  std::unique_lock lock(mutex_);
  for (TimePoint next = clock_.now() + kCheck;;) {
    const bool slept = is_sleeping_;
    while (!stopped_ && clock_.now() < next && is_sleeping_ == slept) {
      if (next == TimePoint::max())
        condition_.wait(lock);
      else
        clock_.wait_until(condition_, lock, next);
    }
    if (stopped_) return;
    if (slept && !is_sleeping_) {
      // The request that woke the watch has just begun. It has not yet left anything to tidy.
      is_resting_ = false;
      since_ = clock_.now();
      next = since_ + kCheck;
      continue;
    }
    rest_if_unused();
    if (limit_ != std::chrono::seconds::zero() && idle_time() >= limit_ &&
        mount_.uncommitted().empty()) {  // changes that SOURCE cannot take keep the mount
      asked_ = clock_.now();
      ::kill(::getpid(), SIGTERM);
    }
    next = tidy();
  }
}

IdleWatch::TimePoint IdleWatch::tidy() {
  // Set before Source::tidy() and forgotten() are called. A request that leaves work after these
  // calls sees that the watch sleeps, and wakes it.
  is_sleeping_ = is_resting_;
  // Read before Source::tidy(): a commit that ends between the two calls has left its remaining
  // work to the source, so that tidy() reports it.
  const bool is_dirty = !mount_.uncommitted().empty();
  if (mount_.source().tidy() || is_dirty || mount_.forgotten() != forgotten_) is_sleeping_ = false;
  const auto now = clock_.now();
  if (!is_sleeping_) return now + kCheck;
  if (limit_ == std::chrono::seconds::zero()) return TimePoint::max();
  return now + std::max<frame::Clock::Duration>(kCheck, limit_ - idle_time());
}

/// Calls Mount::rest() once, after kRest without use.
void IdleWatch::rest_if_unused() {
  const std::uint64_t requests = mount_.requests();
  const std::uint64_t forgotten = mount_.forgotten();
  // Forgotten nodes leave memory that rest() frees. If a rest() call is still to come, it frees
  // that memory too, and forgotten nodes do not delay it. If the last call is over, another one
  // follows.
  const bool has_more = std::exchange(forgotten_, forgotten) != forgotten && is_resting_;
  if (std::exchange(requests_, requests) != requests || has_more) {
    since_ = clock_.now();
    is_resting_ = false;
  } else if (!is_resting_ && clock_.now() - since_ >= kRest) {
    is_resting_ = true;
    mount_.rest();
  }
}

}  // namespace bloscfs::fs
