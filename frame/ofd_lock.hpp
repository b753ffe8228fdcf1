#pragma once
// A lock of an open file description on a byte beyond all contents, so that no lock of somebody
// else's is in the way.

namespace bloscfs::frame {

enum class OfdLock {
  taken,
  held,              ///< by another description, of somebody who may write to the file
  held_for_reading,  ///< by somebody who may have no right to more
  impossible,        ///< the file or its filesystem has no such locks
};

/// Takes it, for the description alone, if nobody has it. `fd` is open for writing.
OfdLock try_ofd_lock(int fd);
void release_ofd_lock(int fd);
/// True if another description has it to exclude others; `fd` may be open for reading only.
bool is_ofd_locked(int fd);

}  // namespace bloscfs::frame
