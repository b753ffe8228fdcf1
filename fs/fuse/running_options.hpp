#pragma once
// The options of a mount, of which some can be changed while it goes on.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fs/options/options.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class RunningOptions {
 public:
  /// `change` has the mount go on with other options, and is called once at a time.
  RunningOptions(const MountOptions& options, std::function<void(const MountOptions&)> change)
      : change_(std::move(change)), own_(options.own) {}

  /// Those of ours that were given, or changed since, as for -o.
  std::string list() const EXCLUDES(mutex_);
  /// Takes over such a list. Throws std::invalid_argument as change_running().
  void change(const std::string& list) EXCLUDES(mutex_);

 private:
  const std::function<void(const MountOptions&)> change_;
  mutable Mutex mutex_{LockLevel::request};
  std::vector<std::string> own_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
