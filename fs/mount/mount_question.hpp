#pragma once
// Asks the daemon of a mount through the root of the mount.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::fs {

/// Asks in a child process, which waits as long as needed, while the caller can use a timeout. The
/// reason: no signal can end a process that waits for a hanging daemon. If root asks, the child
/// takes the user and group of the mount's owner, because FUSE lets only the owner in without
/// allow_other.
class MountQuestion {
 public:
  /// Calls `ask` in the child, whose current directory is the mount's root. To be called while
  /// there are no other threads. Throws std::system_error.
  MountQuestion(const MountEntry& mount, const std::function<std::string()>& ask);
  /// Calls `ask` in the child with the caller's rights and current directory. For calls that may
  /// hang on another filesystem, such as that of SOURCE.
  explicit MountQuestion(const std::function<std::string()>& ask);
  /// Kills the child, which ends once its system call returns.
  ~MountQuestion();
  MountQuestion(const MountQuestion&) = delete;
  MountQuestion& operator=(const MountQuestion&) = delete;

  /// Returns the result of `ask`, or nullopt if there is none within `timeout`. Throws
  /// std::system_error with the error of `ask`: ENOTCONN if the daemon is gone, EACCES if it does
  /// not let the caller in. Must not be called again after an answer.
  std::optional<std::string> wait(std::chrono::milliseconds timeout);

 private:
  frame::UniqueFd answer_;
  pid_t process_ = -1;
  std::string text_;
};

// Functions for `ask`. Both throw std::system_error.

/// Returns an attribute of the root.
std::string read_root_attribute(std::string_view name);
/// Returns the root, opened for ioctl(2).
frame::UniqueFd open_root();

/// A daemon that does not answer a quick question within this time is stopped, or hangs.
inline constexpr std::chrono::seconds kLongestAnswer{10};

/// Returns an attribute of the mount's root. Throws what MountQuestion::wait() throws. After
/// kLongestAnswer, throws std::runtime_error with a message for the user.
std::string ask_attribute(const MountEntry& mount, std::string_view name);

/// Calls `ask` as MountQuestion does, and waits for its result as long as the daemon answers quick
/// questions. Throws what ask_attribute() throws.
std::string ask_for_long_work(const MountEntry& mount, const std::function<std::string()>& ask);

/// Throws std::runtime_error with a message for the user: the daemon has not answered for `time`.
[[noreturn]] void throw_no_answer(const MountEntry& mount, std::chrono::seconds time);

}  // namespace bloscfs::fs
