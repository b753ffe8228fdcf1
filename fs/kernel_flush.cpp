#include "fs/kernel_flush.hpp"

#include <deque>
#include <thread>
#include <utility>

#include "fs/sync.hpp"

namespace bloscfs::fs {

struct KernelFlush::State {
  struct Task {
    fuse_ino_t inode;
    std::function<void()> reply;
  };

  fuse_session* session = nullptr;
  Mutex mutex;
  CondVar changed;
  std::deque<Task> tasks GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;
  bool replying GUARDED_BY(mutex) = false;

  void work() {
    while (true) {
      Task task{};
      {
        const MutexLock lock(mutex);
        while (tasks.empty() && !stopping) changed.wait(mutex);
        if (stopping) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      fuse_lowlevel_notify_inval_inode(session, task.inode, 0, 0);
      {
        const MutexLock lock(mutex);
        if (stopping) return;
        replying = true;
      }
      task.reply();
      const MutexLock lock(mutex);
      replying = false;
      changed.notify_all();
    }
  }
};

KernelFlush::KernelFlush(fuse_session* session) : state_(std::make_shared<State>()) {
  state_->session = session;
  // Not joined: the kernel may answer only when the session is gone.
  std::thread([state = state_] { state->work(); }).detach();
}

KernelFlush::~KernelFlush() {
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  while (state_->replying) state_->changed.wait(state_->mutex);
}

void KernelFlush::before(fuse_ino_t inode, std::function<void()> reply) {
  const MutexLock lock(state_->mutex);
  state_->tasks.push_back({inode, std::move(reply)});
  state_->changed.notify_all();
}

}  // namespace bloscfs::fs
