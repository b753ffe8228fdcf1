#pragma once
// Asking the daemon of a mount something, by its root.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::fs {

/// Is asked by a process of its own, which waits as long as it takes, while the caller need not:
/// whoever waits for a daemon that does not answer cannot be ended by a signal. Where root asks, it
/// is the owner of the mount who does, whom alone FUSE lets in unless the mount is for others.
class MountQuestion {
 public:
  /// `ask` is called in that process, whose current directory is the mount's root. To open that may
  /// take as long as listing it does. To be called while there are no other threads. Throws
  /// std::system_error.
  MountQuestion(const MountEntry& mount, const std::function<std::string()>& ask);
  /// `ask` is called with the caller's rights and directory: for what may hang as a mount does.
  explicit MountQuestion(const std::function<std::string()>& ask);
  /// Ends the process, which goes once it can.
  ~MountQuestion();
  MountQuestion(const MountQuestion&) = delete;
  MountQuestion& operator=(const MountQuestion&) = delete;

  /// What `ask` has returned; nullopt if that is not known within `timeout`. Throws
  /// std::system_error with its error: ENOTCONN where the daemon is gone, EACCES where it does not
  /// let the caller in. Not to be called again after an answer.
  std::optional<std::string> wait(std::chrono::milliseconds timeout);

 private:
  frame::UniqueFd answer_;
  pid_t process_ = -1;
  std::string text_;
};

// For `ask`; both throw std::system_error.

/// An attribute of the root.
std::string read_root_attribute(std::string_view name);
/// The root, open for ioctl(2).
frame::UniqueFd open_root();

/// A daemon that answers no quick question within this time is stopped, or hangs.
inline constexpr std::chrono::seconds kLongestAnswer{10};

/// An attribute of the mount's root. Throws as MountQuestion::wait(), and after kLongestAnswer
/// std::runtime_error with a message for the user.
std::string ask_attribute(const MountEntry& mount, std::string_view name);

}  // namespace bloscfs::fs
