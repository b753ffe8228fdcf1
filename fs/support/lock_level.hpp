#pragma once
// The order of the mount's locks (fs/LOCKS.md). A thread takes a lock only if its level is later
// than the levels of all locks that the thread holds. So threads cannot wait for each other in a
// circle. Builds with assertions check this.

#include <cstdint>

namespace bloscfs::fs {

enum class LockLevel : std::uint8_t {
  command,  ///< the choice of the next file in a command with several threads, which lists
            ///< directories under this lock
  request,  ///< one piece of long work at a time on a file, a directory or a user's listing
  batch,    ///< one batch of commits, or one user's large listing; a thread never holds both
  commit,   ///< one commit of each file; a batch holds many, in the order of their addresses
  names,    ///< names in SOURCE, or the view of a file's committed state; a thread never holds both
  queue,    ///< the queue of commits, room for metalayers, or embedded stores; a thread holds one
  table,    ///< tables of nodes, files and objects
  content,  ///< the uncommitted data of one file
  watch,    ///< inotify's events, or the memory that a listing takes; a thread never holds both
  cache,    ///< the order in which the cache evicts values
  leaf,     ///< counters and lists; a thread that holds one takes no lock but `slots`
  slots,    ///< which request slots are free
};

#ifdef NDEBUG
inline void check_order(const void*, LockLevel) {}
inline void note_locked(const void*, LockLevel) {}
inline void note_unlocked(const void*) {}
#else
/// To be called before the thread waits for a lock. Aborts the process if that lock violates the
/// order.
void check_order(const void* lock, LockLevel level);
void note_locked(const void* lock, LockLevel level);
void note_unlocked(const void* lock);
#endif

}  // namespace bloscfs::fs
