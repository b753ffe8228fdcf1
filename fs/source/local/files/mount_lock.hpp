#pragma once
// Lets only one process at a time write to a SOURCE.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/clock.hpp"
#include "fs/source/local/files/journal.hpp"
#include "fs/source/local/files/lock_file.hpp"

namespace bloscfs::fs {

/// The lock file of a SOURCE (fs/source/local/files/lock_file.hpp), held until the object, and the
/// process that it was handed down to, is gone. Then the file is removed, unless its journal has
/// something to say to the next mount.
///
/// flock on SOURCE itself is held, too, where it is free: whoever waits for that waits until
/// everything is written. Whoever can read SOURCE may hold it, so that it keeps nobody out, but for
/// one case: where no lock file can be made, as in a directory that we may not write to, there is
/// nothing else to lock.
class MountLock {
 public:
  /// SOURCE is the open `directory` (O_PATH is enough) or its entry `single`. Waits until the lock
  /// is free, which it is only once the last mount has committed everything. Throws
  /// std::system_error, or std::runtime_error with a message for the user when the time is up.
  /// Calls `before_wait` each time before it waits.
  MountLock(
      int directory, const std::optional<std::string>& single, std::chrono::milliseconds timeout,
      const std::function<void()>& before_wait = [] {},
      const frame::Clock& clock = frame::system_clock());
  ~MountLock();
  MountLock(const MountLock&) = delete;
  MountLock& operator=(const MountLock&) = delete;

  /// What the lock file says; null where there is none.
  Journal* journal() { return journal_ ? &*journal_ : nullptr; }
  /// Has what is left after a power cut known, too. What fails is logged.
  void make_durable();
  /// Lets go of SOURCE itself where the lock file keeps others out: its open file would count as a
  /// reader of SOURCE, for whom space that is superseded has to wait.
  void release_source() {
    if (journal_) source_ = {};
  }
  /// The name of what is no lock file of ours and has its name; empty if there was nothing.
  const std::string& displaced() const { return file_.displaced(); }
  /// Temporaries of this process may stay behind: the next mount is to know them.
  void leave_unfinished() { is_unfinished_ = true; }

  /// Follows a file that has been replaced by another one of the same path: takes the lock on that
  /// too, if nobody has it.
  void follow(const frame::UniqueFd& file);

 private:
  bool take_source();
  bool wait_for(std::chrono::milliseconds timeout, const std::function<void()>& before_wait,
                const frame::Clock& clock);
  std::string obstacle() const;
  void begin_journal();

  SourceDirectory directory_;
  const std::string entry_;  ///< SOURCE in that: "." for itself
  LockFile file_;
  std::optional<Journal> journal_;
  bool is_unfinished_ = false;
  frame::UniqueFd source_;
};

/// True if somebody else has locked what is at `path`, or would be, as a writable mount's SOURCE.
bool is_locked_by_other(const std::string& path);

/// True if a mount of a directory above can have files in SOURCE: in the directory at `path`, which
/// is absolute and without symlinks, or in the single container that is in it.
bool is_below_another_mount(const std::string& path, bool is_single);

/// How long mounts and tools wait.
inline constexpr std::chrono::seconds kMountLockTimeout{30};

}  // namespace bloscfs::fs
