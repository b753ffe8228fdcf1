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
  /// forgotten its attributes: all in the order of the calls, and at once where `is_needed`, which
  /// does not throw either, denies that at its turn.
  void before(
      fuse_ino_t inode, std::function<void()> reply,
      std::function<bool()> is_needed = [] { return true; });

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bloscfs::fs
