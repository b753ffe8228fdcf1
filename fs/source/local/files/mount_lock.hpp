#pragma once
// Lets only one process at a time write to a SOURCE.

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/clock.hpp"
#include "fs/source/local/files/journal.hpp"
#include "fs/source/local/files/lock_file.hpp"
#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::fs {

/// Another process holds the lock. The text is a message for the user.
struct SourceInUse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Holds the lock file of a SOURCE (fs/source/local/files/lock_file.hpp) until this object is
/// destroyed, and any process that inherited the descriptor has ended. The destructor removes the
/// file unless its journal still has entries for the next mount.
///
/// Also holds flock(2) on SOURCE itself if that is free, so that other programs can wait for it
/// until everything is written. Any user who can read SOURCE can hold this flock, so a mount does
/// not depend on it. The exception is a place where no lock file can be made, as in a directory
/// that the daemon may not write to. There the flock is the only lock.
class MountLock {
 public:
  /// SOURCE is the open `directory` (O_PATH is enough) or its entry `single`. Waits until the lock
  /// is free, which is when the last mount has committed everything. Calls `before_wait` each time
  /// before it sleeps. Throws std::system_error, and SourceInUse after `timeout`, or sooner if a
  /// killed mount of another user has left a lock file that this user cannot open.
  MountLock(
      int directory, const std::optional<std::string>& single, std::chrono::milliseconds timeout,
      const std::function<void()>& before_wait = [] {},
      const frame::Clock& clock = frame::system_clock());
  ~MountLock();
  MountLock(const MountLock&) = delete;
  MountLock& operator=(const MountLock&) = delete;

  /// The journal in the lock file; null if there is no lock file.
  Journal* journal() { return journal_ ? &*journal_ : nullptr; }
  /// Makes the journal and the name of its file durable, so that they survive a power cut. Logs
  /// errors.
  void make_durable();
  /// Releases the flock on SOURCE if the lock file keeps other mounts out. The open descriptor
  /// would count as a reader of SOURCE, and delay the reuse of superseded space.
  void release_source() {
    if (journal_) source_ = {};
  }
  /// The name that a foreign object was moved to because it had the lock file's name; empty if
  /// there was none.
  const std::string& displaced() const { return file_.displaced(); }
  /// Keeps this process in the journal, so that the next mount recognizes the temporaries that it
  /// leaves.
  void leave_unfinished() { is_unfinished_ = true; }

  /// Takes the flock on `file`, which has replaced SOURCE under the same path, if no other process
  /// holds it.
  void follow(const frame::UniqueFd& file);

 private:
  bool take_source();
  bool wait_for(std::chrono::milliseconds timeout, const std::function<void()>& before_wait,
                const frame::Clock& clock);
  bool is_stale() const;
  std::optional<MountEntry> find_mount() const;
  std::string obstacle() const;
  void report_displaced() const;
  void begin_journal();

  SourceDirectory directory_;
  const std::string entry_;  ///< the name of SOURCE in `directory_`; "." for that itself
  LockFile file_;
  std::optional<Journal> journal_;
  bool is_unfinished_ = false;
  frame::UniqueFd source_;
};

/// Returns the user of the lock file of SOURCE; nullopt if there is none. For the parameters see
/// MountLock.
std::optional<uid_t> user_of_lock_file(int directory, const std::optional<std::string>& single);

/// True if another process holds the lock that a writable mount of `path` would take.
bool is_locked_by_other(const std::string& path);

/// True if a mount of a directory above can have files in SOURCE. `path` is absolute and without
/// symlinks. It is SOURCE, or the directory that contains it if `is_single`.
bool is_below_another_mount(const std::string& path, bool is_single);

/// How long mounts and tools wait for the lock.
inline constexpr std::chrono::seconds kMountLockTimeout{30};

}  // namespace bloscfs::fs
