#pragma once
// Has the kernel write its dirty pages of a file to the daemon.

#include <functional>
#include <memory>

#include <fuse_lowlevel.h>

namespace bloscfs::fs {

/// Flushes an inode before the daemon answers an lseek(2) for data or holes. The daemon needs all
/// data of the file for that, but the kernel sends the lseek(2) without the dirty pages of a
/// mapping or of the writeback cache. The kernel writes them when the daemon invalidates the
/// inode's pages: it sends write requests, which other threads must serve during that call. So a
/// separate thread invalidates the pages.
class KernelFlush {
 public:
  explicit KernelFlush(fuse_session* session);
  /// Drops the tasks that still wait.
  ~KernelFlush();
  KernelFlush(const KernelFlush&) = delete;
  KernelFlush& operator=(const KernelFlush&) = delete;

  /// Calls `reply` once the kernel has written the inode's pages and has forgotten its attributes.
  /// `reply` must not throw. Tasks are served in the order of the calls. An invalidation waits for
  /// pages of its inode that are being read, and delays all later tasks.
  void before(fuse_ino_t inode, std::function<void()> reply);
  /// Has the kernel forget the inode's attributes soon. Does not wait.
  void forget_attributes(fuse_ino_t inode);
  /// Calls `reply` once all earlier calls for the inode are done; at once, in this thread, if none
  /// waits. The kernel ignores a size that it requests while it forgets attributes, so a program
  /// that gets its reply earlier may read up to an old size. `reply` must not throw.
  void after(fuse_ino_t inode, std::function<void()> reply);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bloscfs::fs
