#pragma once
// Unmounting, also for ordinary users.

#include <string>

namespace bloscfs::fs {

/// Unmounts what was mounted last at `point`, an absolute path, without asking it, whether or not
/// it is in use. False where it is still mounted.
bool unmount_lazily(const std::string& point);

/// The same, but EBUSY where it is in use. Throws std::system_error, std::runtime_error with a
/// message for the user; neither names the place.
void unmount_unused(const std::string& point);

/// Waits for a child's end; its status, or -1.
int wait_for_end_of(int process);

}  // namespace bloscfs::fs
