#include "fs/mount/idle_watch.hpp"

#include <csignal>
#include <utility>

#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kCheck{1};
/// Who comes back later finds the kernel's page cache, or decodes again.
constexpr std::chrono::seconds kRest{20};

}  // namespace

IdleWatch::IdleWatch(Mount& mount, std::chrono::seconds limit, const frame::Clock& clock)
    : mount_(mount), clock_(clock), limit_(limit), thread_([this] { watch(); }) {}

IdleWatch::~IdleWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  condition_.notify_all();
  thread_.join();
}

void IdleWatch::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = clock_.now() + kCheck;
    while (!stopped_ && clock_.now() < next) clock_.wait_until(condition_, lock, next);
    if (stopped_) return;
    mount_.source().tidy();
    rest_if_unused();
    const std::chrono::seconds limit = limit_;
    if (limit == std::chrono::seconds::zero() || mount_.idle_time() < limit) continue;
    // What SOURCE cannot take keeps the mount.
    if (!mount_.uncommitted().empty()) continue;
    ::kill(::getpid(), SIGTERM);  // ends the session as a signal from outside would
    return;
  }
}

void IdleWatch::rest_if_unused() {
  const std::uint64_t requests = mount_.requests();
  if (std::exchange(requests_, requests) != requests) {
    since_ = clock_.now();
    rests_ = false;
  } else if (!rests_ && clock_.now() - since_ >= kRest) {
    rests_ = true;
    mount_.rest();
  }
}

}  // namespace bloscfs::fs
