#pragma once
// What a mount of a SOURCE is but for the kernel, from its lock to the last commit.

#include <memory>
#include <optional>
#include <string>

#include "fs/fuse/running_options.hpp"
#include "fs/mount/make_mount.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

/// One at a time.
class FuzzMount {
 public:
  /// Throws as fs::open_source() does.
  FuzzMount(FuseChannel& channel, const std::string& source, const fs::MountOptions& options);
  ~FuzzMount();
  FuzzMount(const FuzzMount&) = delete;
  FuzzMount& operator=(const FuzzMount&) = delete;

  FuseChannel& channel() { return channel_; }
  /// As an unmount does. False where something could not be committed. Nothing is asked any more.
  bool commit();
  /// As a sudden end: what was not committed is lost, and leftovers stay.
  void kill();

 private:
  FuseChannel& channel_;
  std::optional<fs::MountLock> lock_;
  fs::PagePool pages_;
  std::unique_ptr<fs::Mount> mount_;
  std::optional<fs::RunningOptions> running_options_;
  fs::Mutex mutex_;
  /// What is killed may be committing until the filesystem is gone, which is later.
  std::shared_ptr<fs::KernelFlush> kernel_flush_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fuzz
