#pragma once
// A lock of an open file description on a byte beyond all contents, so that no lock of somebody
// else's is in the way.

namespace bloscfs::frame::inline store {

enum class OfdLock {
  taken,
  held,              ///< by another description, of somebody who may write to the file
  held_for_reading,  ///< by somebody who may have no right to more
  impossible,        ///< the file or its filesystem has no such locks
};

/// What such a lock is on. Each has a byte of its own: whoever renames files may make a frame of
/// the file that a mount has locked, and the mount's lock must not keep it from its own frame.
enum class OfdLocked { frame, source };

/// Takes the lock, for the description alone, if nobody has it. `fd` is open for writing.
OfdLock try_ofd_lock(int fd, OfdLocked what);
void release_ofd_lock(int fd, OfdLocked what);
/// True if another description has it to exclude others; `fd` may be open for reading only.
bool is_ofd_locked(int fd, OfdLocked what);

}  // namespace bloscfs::frame::inline store
