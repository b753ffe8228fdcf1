#pragma once
// The options of a mount, of which some can be changed while it goes on.

#include <string>
#include <vector>

#include "fs/mount/idle_watch.hpp"
#include "fs/mount/mounted_files.hpp"
#include "fs/options/options.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class RunningOptions {
 public:
  /// Both outlive it.
  RunningOptions(const MountOptions& options, MountedFiles& files, IdleWatch& idle_watch)
      : files_(files), idle_watch_(idle_watch), own_(options.own) {}

  /// Those of ours that were given, or changed since, as for -o.
  std::string list() const EXCLUDES(mutex_);
  /// Takes over such a list. Throws std::invalid_argument as change_running().
  void change(const std::string& list) EXCLUDES(mutex_);

 private:
  MountedFiles& files_;
  IdleWatch& idle_watch_;
  mutable Mutex mutex_;
  std::vector<std::string> own_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
