#pragma once
// Locks of an open file description on a byte beyond all contents, where they do not conflict with
// other programs' locks.

namespace bloscfs::frame::inline store {

enum class OfdLock {
  taken,
  held,              ///< write-locked by another description
  held_for_reading,  ///< read-locked, by a program that may lack the right to write
  impossible,        ///< the file or its filesystem has no such locks
};

/// The thing that the lock protects: a frame, or the source of a mount by its lock file. Each kind
/// has its own byte: a user may rename a mount's lock file, so that it becomes a frame. The mount's
/// own lock must not keep it from writing to that frame.
enum class OfdLocked { frame, source };

/// Tries to take a write lock that only this description owns. `fd` must be open for writing.
OfdLock try_ofd_lock(int fd, OfdLocked what);
void release_ofd_lock(int fd, OfdLocked what);
/// True if another description has a write lock. `fd` may be open for reading only.
bool is_ofd_locked(int fd, OfdLocked what);

}  // namespace bloscfs::frame::inline store
