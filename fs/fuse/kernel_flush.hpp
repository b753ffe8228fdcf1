#pragma once
// Asks the kernel for what it has not written yet.

#include <functional>
#include <memory>

#include <fuse_lowlevel.h>

namespace bloscfs::fs {

/// Where holes are, the daemon can only tell when it has all of a file; but the kernel asks without
/// writing what a mapping or the writeback cache holds. It writes that when the file's pages are
/// declared invalid, through requests that must be served meanwhile: so this has its own thread.
class KernelFlush {
 public:
  explicit KernelFlush(fuse_session* session);
  /// Drops what still waits.
  ~KernelFlush();
  KernelFlush(const KernelFlush&) = delete;
  KernelFlush& operator=(const KernelFlush&) = delete;

  /// Calls `reply`, which does not throw, once the kernel has written the inode's pages and has
  /// forgotten its attributes: all in the order of the calls. A page that is being read holds that
  /// up, that of another inode as well.
  void before(fuse_ino_t inode, std::function<void()> reply);
  /// Has the kernel forget the inode's attributes, soon. Waits for nobody.
  void forget_attributes(fuse_ino_t inode);
  /// Calls `reply`, which does not throw, once all such calls of the inode are answered: in this
  /// thread where none is waiting.
  void after(fuse_ino_t inode, std::function<void()> reply);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bloscfs::fs
