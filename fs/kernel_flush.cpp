#include "fs/kernel_flush.hpp"

#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "fs/sync.hpp"

namespace bloscfs::fs {

struct KernelFlush::State {
  struct Task {
    fuse_ino_t inode;
    std::function<void()> reply;
    std::function<bool()> is_needed;
  };

  fuse_session* session = nullptr;
  Mutex mutex;
  CondVar changed;
  std::deque<Task> tasks GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;
  bool is_calling GUARDED_BY(mutex) = false;
  Task task{};  ///< at work; the thread's, but when that is to stop and calls nothing of it

  void work() {
    while (const auto inode = take_task()) {
      bool is_needed = false;
      if (!calling([&] { is_needed = task.is_needed(); })) return;
      if (is_needed) fuse_lowlevel_notify_inval_inode(session, *inode, 0, 0);
      const bool goes_on = calling([&] {
        task.reply();
        task = {};
      });
      if (!goes_on) return;
    }
  }

  std::optional<fuse_ino_t> take_task() {
    const MutexLock lock(mutex);
    while (tasks.empty() && !stopping) changed.wait(mutex);
    if (stopping) return std::nullopt;
    task = std::move(tasks.front());
    tasks.pop_front();
    return task.inode;
  }

  /// False, and nothing is called, when the flush is at its end, which waits for what is called.
  template <typename Call>
  bool calling(const Call& call) {
    {
      const MutexLock lock(mutex);
      if (stopping) return false;
      is_calling = true;
    }
    call();
    const MutexLock lock(mutex);
    is_calling = false;
    changed.notify_all();
    return true;
  }
};

KernelFlush::KernelFlush(fuse_session* session) : state_(std::make_shared<State>()) {
  state_->session = session;
  // Not joined: the kernel may answer only when the session is gone.
  std::thread([state = state_] { state->work(); }).detach();
}

KernelFlush::~KernelFlush() {
  std::deque<State::Task> dropped;  // what they keep may need what ends soon
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  while (state_->is_calling) state_->changed.wait(state_->mutex);
  dropped.swap(state_->tasks);
  dropped.push_back(std::move(state_->task));
  state_->task = {};
}

void KernelFlush::before(fuse_ino_t inode, std::function<void()> reply,
                         std::function<bool()> is_needed) {
  const MutexLock lock(state_->mutex);
  state_->tasks.push_back({inode, std::move(reply), std::move(is_needed)});
  state_->changed.notify_all();
}

}  // namespace bloscfs::fs
