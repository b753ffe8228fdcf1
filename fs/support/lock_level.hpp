#pragma once
// The order of the mount's locks (fs/LOCKS.md). A thread takes a lock only of a later level than
// those that it holds: so no two threads ever wait for each other. Builds with assertions hold
// every thread to that.

#include <cstdint>

namespace bloscfs::fs {

enum class LockLevel : std::uint8_t {
  command,  ///< which file a command with several threads takes next, for which it lists
            ///< directories
  request,  ///< one piece of long work on a file, a directory or a user's listing at a time
  batch,    ///< one batch of commits, or one large listing of a user; never both
  commit,   ///< one commit of each file; a batch has many, in the order of their addresses
  names,    ///< names in SOURCE, or the view of a file's committed state; never both
  queue,    ///< files that wait for a commit, room for metalayers, or embedded stores; one of them
  table,    ///< what is known of nodes, files and objects
  content,  ///< what was written to one file
  watch,    ///< what inotify tells, or what a listing takes of memory; never both
  cache,    ///< the order in which values leave the cache
  leaf,     ///< counters and lists: whoever has one takes no other lock but that of the slots
  slots,    ///< which slots of requests are free
};

#ifdef NDEBUG
inline void check_order(const void*, LockLevel) {}
inline void note_locked(const void*, LockLevel) {}
inline void note_unlocked(const void*) {}
#else
/// Before the thread waits for a lock. Ends the process where that breaks the order.
void check_order(const void* lock, LockLevel level);
void note_locked(const void* lock, LockLevel level);
void note_unlocked(const void* lock);
#endif

}  // namespace bloscfs::fs
