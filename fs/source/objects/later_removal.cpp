#include "fs/source/objects/later_removal.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "frame/store/interruption.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {

LaterRemoval::~LaterRemoval() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  wake_.notify_all();
  if (thread.joinable()) thread.join();
}

void LaterRemoval::add(const std::string& path) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  due_.emplace_back(clock_.now() + delay_, path);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  wake_.notify_all();
}

void LaterRemoval::work() {
  // A store that does not answer keeps no unmount waiting.
  const frame::Interruption interruption([this] {
    const MutexLock lock(mutex_);
    if (stopping_) throw RequestEnded(std::make_error_code(std::errc::interrupted), "unmounting");
  });
  for (;;) {
    std::vector<std::string> paths;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && (due_.empty() || due_.front().first > clock_.now())) {
        if (due_.empty())
          wake_.wait(mutex_);
        else
          wake_.wait_until(mutex_, clock_, due_.front().first);
      }
      if (stopping_) return;
      for (; !due_.empty() && due_.front().first <= clock_.now(); due_.pop_front())
        paths.push_back(std::move(due_.front().second));
    }
    try {
      calls_.for_each(paths.size(), [&](std::size_t i) { remove(paths[i]); });
    } catch (const std::exception&) {
      return;  // stopping
    }
  }
}

void LaterRemoval::remove(const std::string& path) {
  try {
    tree_->remove(path, {});
  } catch (const std::exception&) {
    // It is found as left over.
  }
}

}  // namespace bloscfs::fs
