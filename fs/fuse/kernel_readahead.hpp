#pragma once
// How much more than asked for the kernel reads of a file.

#include <atomic>
#include <optional>
#include <string>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// The kernel starts with 128 KiB; only root may change that. An open file keeps the value that the
/// mount had when its open(2) ended, until posix_fadvise(2) takes the present one. Thread-safe.
class KernelReadahead {
 public:
  /// Without a mount nothing is ever set. Must be made before FUSE_INIT is answered, which can only
  /// lower the value, and before the sandbox closes /sys.
  explicit KernelReadahead(const std::optional<MountEntry>& mount);
  KernelReadahead(const KernelReadahead&) = delete;
  KernelReadahead& operator=(const KernelReadahead&) = delete;

  /// To be called before the kernel is told that a file is open. Of two files that are opened at
  /// the same moment, one may get the other's value.
  void before_open(bool may_be_mapped);

 private:
  bool set(const std::string& kib) REQUIRES(mutex_);

  Mutex mutex_;
  frame::UniqueFd setting_ GUARDED_BY(mutex_);
  std::string usual_ GUARDED_BY(mutex_);  ///< the value for files that are not mapped
  std::atomic<bool> is_for_mapped_{false};
};

}  // namespace bloscfs::fs
