#pragma once
// The options of a running mount, some of which can be changed.

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
  /// `change` applies new options to the mount. Calls never overlap.
  RunningOptions(const MountOptions& options, std::function<void(const MountOptions&)> change)
      : change_(std::move(change)), own_(options.own) {}

  /// Returns the options of bloscfs as given, with later changes, in the form of -o.
  std::string list() const EXCLUDES(mutex_);
  /// Applies a list of options in the form of -o. Throws std::invalid_argument if a running mount
  /// cannot change an option, or a value is invalid.
  void change(const std::string& list) EXCLUDES(mutex_);

 private:
  const std::function<void(const MountOptions&)> change_;
  mutable Mutex mutex_{LockLevel::request};
  std::vector<std::string> own_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
