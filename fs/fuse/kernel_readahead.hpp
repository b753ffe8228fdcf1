#pragma once
// Sets how much the kernel reads ahead.

#include <atomic>
#include <optional>
#include <string>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Sets the readahead of the mount. The kernel starts with 128 KiB, and only root may change that.
/// An open file keeps the value that the mount had at its open(2), until posix_fadvise(2) applies
/// the present one. Thread-safe.
class KernelReadahead {
 public:
  /// If `mount` is empty, never sets anything. Must be made before FUSE_INIT is answered, since
  /// that answer can only lower the value. Must also be made before the sandbox closes /sys.
  explicit KernelReadahead(const std::optional<MountEntry>& mount);
  KernelReadahead(const KernelReadahead&) = delete;
  KernelReadahead& operator=(const KernelReadahead&) = delete;

  /// Sets the value for a file that is being opened. To be called before the daemon replies. Of two
  /// files that are opened at the same moment, one may get the other's value.
  void before_open(bool may_be_mapped);

 private:
  bool set(const std::string& kib) REQUIRES(mutex_);

  Mutex mutex_;
  frame::UniqueFd setting_ GUARDED_BY(mutex_);
  std::string usual_ GUARDED_BY(mutex_);  ///< the value for files that are not mapped
  std::atomic<bool> is_for_mapped_{false};
};

}  // namespace bloscfs::fs
