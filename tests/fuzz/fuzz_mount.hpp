#pragma once
// A mount of a SOURCE without the kernel, from its lock to the last commit.

#include <memory>
#include <optional>
#include <string>

#include "fs/fuse/running_options.hpp"
#include "fs/mount/make_mount.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

/// Only one may exist at a time.
class FuzzMount {
 public:
  /// Throws like fs::open_source().
  FuzzMount(FuseChannel& channel, const std::string& source, const fs::MountOptions& options);
  ~FuzzMount();
  FuzzMount(const FuzzMount&) = delete;
  FuzzMount& operator=(const FuzzMount&) = delete;

  FuseChannel& channel() { return channel_; }
  /// Commits everything, as an unmount does. Returns false if that failed for a file. No request
  /// may follow.
  bool commit();
  /// Ends the mount suddenly: uncommitted changes are lost, and leftovers stay.
  void kill();

 private:
  FuseChannel& channel_;
  std::optional<fs::MountLock> lock_;
  fs::PagePool pages_;
  std::unique_ptr<fs::Mount> mount_;
  std::optional<fs::RunningOptions> running_options_;
  fs::Mutex mutex_;
  /// A killed mount may be committing until its filesystem is destroyed, so this lives longer.
  std::shared_ptr<fs::KernelFlush> kernel_flush_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fuzz
