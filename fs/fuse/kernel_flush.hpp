#pragma once
// Has the kernel write the cached pages that it still holds.

#include <functional>
#include <memory>

#include <fuse_lowlevel.h>

namespace bloscfs::fs {

/// Flushes an inode before the daemon answers where its holes are. Only with all data of the file
/// can the daemon tell. But the kernel asks without writing what a mapping or the writeback cache
/// holds. It writes that data when the file's pages are invalidated, by requests that other threads
/// must serve during that call. So the invalidation has its own thread.
class KernelFlush {
 public:
  explicit KernelFlush(fuse_session* session);
  /// Drops the tasks that still wait.
  ~KernelFlush();
  KernelFlush(const KernelFlush&) = delete;
  KernelFlush& operator=(const KernelFlush&) = delete;

  /// Calls `reply` once the kernel has written the inode's pages and has forgotten its attributes.
  /// `reply` must not throw. Tasks are served in the order of the calls. A page that is being read,
  /// of any inode, delays them.
  void before(fuse_ino_t inode, std::function<void()> reply);
  /// Has the kernel forget the inode's attributes soon. Does not wait.
  void forget_attributes(fuse_ino_t inode);
  /// Calls `reply` once all earlier before() calls for the inode are answered; at once, in this
  /// thread, if none waits. `reply` must not throw.
  void after(fuse_ino_t inode, std::function<void()> reply);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bloscfs::fs
