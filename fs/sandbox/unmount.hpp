#pragma once
// Unmounting, also for ordinary users.

#include <string>

namespace bloscfs::fs {

/// Unmounts the last mount at `point`, an absolute path, even if it is in use. Does not ask its
/// filesystem. Returns false if it is still mounted.
bool unmount_lazily(const std::string& point);

/// Unmounts the last mount at `point`, or throws EBUSY if it is in use. Throws std::system_error,
/// or std::runtime_error with a message for the user; neither names the path.
void unmount_unused(const std::string& point);

/// Waits for a child's end. Returns its wait status, or -1.
int wait_for_end_of(int process);

}  // namespace bloscfs::fs
