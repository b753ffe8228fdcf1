#pragma once
// Unmounting what may be in use, or have no daemon any more.

#include <string>

namespace bloscfs::fs {

/// Unmounts what was mounted last at `point`, an absolute path, without asking it; also for
/// ordinary users, by fusermount3. False where it is still mounted.
bool unmount_lazily(const std::string& point);

/// Waits for a child's end; its status, or -1.
int wait_for_end_of(int process);

}  // namespace bloscfs::fs
