#include "fs/fuse/kernel_flush.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

struct KernelFlush::State {
  struct Task {
    fuse_ino_t inode;
    std::function<void()> reply;
    bool flushes = true;
  };

  static constexpr fuse_ino_t kNothing = ~fuse_ino_t{0};

  fuse_session* session = nullptr;
  Mutex mutex;
  CondVar changed;
  std::deque<Task> tasks GUARDED_BY(mutex);
  std::unordered_set<fuse_ino_t> changed_attributes GUARDED_BY(mutex);
  fuse_ino_t forgotten GUARDED_BY(mutex) = kNothing;  ///< the inode of the running call
  bool stopping GUARDED_BY(mutex) = false;
  bool is_calling GUARDED_BY(mutex) = false;

  /// The first task stays in the queue while it is processed: is_busy_with() must find it.
  void work() {
    for (;;) {
      notify_changed_attributes();
      const auto inode = next_to_flush();
      if (!inode) return;
      if (*inode == kNothing) continue;
      if (*inode != 0) fuse_lowlevel_notify_inval_inode(session, *inode, 0, 0);
      if (!reply()) return;
    }
  }

  /// Returns the inode of the first task, 0 if that task flushes nothing, kNothing if only
  /// attributes are to be forgotten, and nullopt at the end.
  std::optional<fuse_ino_t> next_to_flush() {
    const MutexLock lock(mutex);
    while (tasks.empty() && changed_attributes.empty() && !stopping) changed.wait(mutex);
    if (stopping) return std::nullopt;
    if (tasks.empty()) return kNothing;
    return tasks.front().flushes ? tasks.front().inode : 0;
  }

  /// Has the kernel forget the attributes of the inodes in changed_attributes.
  void notify_changed_attributes() {
    for (;;) {
      fuse_ino_t inode = 0;
      {
        const MutexLock lock(mutex);
        is_calling = false;
        forgotten = kNothing;
        changed.notify_all();
        if (stopping || changed_attributes.empty()) return;
        inode = *changed_attributes.begin();
        changed_attributes.erase(changed_attributes.begin());
        is_calling = true;
        forgotten = inode;
      }
      // Called without `mutex`: the call may block until the kernel has dropped the inode.
      fuse_lowlevel_notify_inval_inode(session, inode, -1, 0);
    }
  }

  /// Calls the reply of the first task. Returns false, without a call, once the KernelFlush is
  /// being destroyed. The destructor waits for a call that has begun.
  bool reply() {
    std::function<void()> call;
    {
      const MutexLock lock(mutex);
      if (stopping) return false;
      call = std::move(tasks.front().reply);
      is_calling = true;
    }
    call();
    call = nullptr;  // its captures may use objects that the KernelFlush does not outlive
    const MutexLock lock(mutex);
    tasks.pop_front();
    is_calling = false;
    changed.notify_all();
    return true;
  }

  bool is_busy_with(fuse_ino_t inode) const REQUIRES(mutex) {
    return changed_attributes.contains(inode) || forgotten == inode ||
           std::any_of(tasks.begin(), tasks.end(),
                       [&](const Task& task) { return task.inode == inode; });
  }
};

KernelFlush::KernelFlush(fuse_session* session) : state_(std::make_shared<State>()) {
  state_->session = session;
  // The thread is not joined: it may be in an invalidation that the kernel completes only after the
  // session has ended.
  std::thread([state = state_] { state->work(); }).detach();
}

KernelFlush::~KernelFlush() {
  std::deque<State::Task> dropped;  // destroyed after the lock is released
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  while (state_->is_calling) state_->changed.wait(state_->mutex);
  dropped.swap(state_->tasks);
}

void KernelFlush::before(fuse_ino_t inode, std::function<void()> reply) {
  const MutexLock lock(state_->mutex);
  state_->tasks.push_back({inode, std::move(reply)});
  state_->changed.notify_all();
}

void KernelFlush::forget_attributes(fuse_ino_t inode) {
  const MutexLock lock(state_->mutex);
  if (state_->changed_attributes.insert(inode).second) state_->changed.notify_all();
}

void KernelFlush::after(fuse_ino_t inode, std::function<void()> reply) {
  {
    const MutexLock lock(state_->mutex);
    if (state_->is_busy_with(inode)) {
      state_->tasks.push_back({inode, std::move(reply), false});
      return;
    }
  }
  reply();
}

}  // namespace bloscfs::fs
