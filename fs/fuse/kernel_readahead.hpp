#pragma once
// How much more than asked for the kernel reads of a file.

#include <atomic>
#include <optional>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// The kernel starts with 128 KiB; only root may change that. A file has what the mount has at the
/// end of its open(2), for as long as it is open. Thread-safe.
class KernelReadahead {
 public:
  /// Without a mount nothing is ever set. To be made before the kernel gets the answer to its first
  /// request, which may lower the value, and before the sandbox closes /sys.
  explicit KernelReadahead(const std::optional<MountEntry>& mount);
  KernelReadahead(const KernelReadahead&) = delete;
  KernelReadahead& operator=(const KernelReadahead&) = delete;

  /// To be called before the kernel is told that a file is open. Of two files that are opened at
  /// once both may have what suits one.
  void before_open(bool may_be_mapped);

 private:
  void set(unsigned kib) REQUIRES(mutex_);

  Mutex mutex_;
  frame::UniqueFd setting_ GUARDED_BY(mutex_);
  std::atomic<unsigned> kib_{0};
};

}  // namespace bloscfs::fs
