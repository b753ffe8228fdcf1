#pragma once
// Lets only one process at a time write to a SOURCE.

#include <chrono>
#include <functional>
#include <string>

#include "frame/byte_source.hpp"

namespace bloscfs::fs {

/// An exclusive flock on SOURCE itself, held until the object (and the process that it was handed
/// down to) is gone.
class MountLock {
 public:
  /// Waits until the lock is free, which it is only once the last mount has committed everything.
  /// Throws std::system_error when SOURCE cannot be opened, std::runtime_error (with a message for
  /// the user) when the time is up. Calls `before_wait` each time before it waits.
  MountLock(
      const std::string& source, std::chrono::milliseconds patience,
      const std::function<void()>& before_wait = [] {});

  /// Follows a file that has been replaced by another one of the same path: takes the lock on that
  /// too, if nobody has it.
  void follow(const frame::UniqueFd& file);

 private:
  frame::UniqueFd locked_;
};

/// True if somebody else has locked the file or directory as a writable mount's SOURCE.
bool is_locked_by_other(const std::string& path);

/// How long mounts and tools wait.
inline constexpr std::chrono::seconds kMountLockPatience{30};

}  // namespace bloscfs::fs
