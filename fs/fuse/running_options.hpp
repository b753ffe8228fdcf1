#pragma once
// The options of a running mount, some of which can be changed.

#include <functional>
#include <string>
#include <utility>

#include "fs/options/options.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class RunningOptions {
 public:
  /// `change` applies new options to the mount. Calls never overlap.
  RunningOptions(const MountOptions& options, std::function<void(const MountOptions&)> change)
      : change_(std::move(change)), options_(options) {}

  /// Returns all options with later changes, in the form of -o.
  std::string list() const EXCLUDES(mutex_);
  /// Applies a list of options in the form of -o. Flags such as "ro" are only noted, since the
  /// kernel applies them. Throws std::invalid_argument if a running mount cannot change an option,
  /// or a value is invalid.
  void change(const std::string& list) EXCLUDES(mutex_);

 private:
  const std::function<void(const MountOptions&)> change_;
  mutable Mutex mutex_{LockLevel::request};
  MountOptions options_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
