#pragma once
// The rule of every subcommand: SIGINT, SIGTERM or SIGHUP ends b2frame within a second, whatever it
// is doing, and no temporary file stays behind.
//
// Long work asks throw_if_interrupted() now and then, and unwinds. Work that cannot ask (one large
// block, a server that does not answer, a lock) gets a grace of kInterruptGrace. Then a thread of
// its own removes the temporaries in all WatchedDirectories, lets go of the WatchedLocks and ends
// the process by the signal.

#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fs/source/local/files/mount_lock.hpp"

namespace bloscfs::tools {

inline constexpr std::chrono::milliseconds kInterruptGrace{300};

/// Passes through everything up to the program's end, which then is that of the signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// Starts the thread that waits for these signals (unless they are ignored, as by nohup). A second
/// signal ends the grace. To be called once, before there are other threads, which inherit that the
/// signals are blocked.
void watch_for_interrupts();

/// Throws Interrupted if a signal has come.
void throw_if_interrupted();

/// Is readable once a signal has come; -1 before watch_for_interrupts().
int interrupt_descriptor();

/// Ends the process by a signal that watch_for_interrupts() watches for.
[[noreturn]] void end_by_signal(int signal);

/// While one lives, the grace of an interrupt does not end: for steps that must not be cut in two,
/// and take less than half a second. A thread may hold several.
class InterruptHold {
 public:
  InterruptHold();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// While one lives, the end of the grace removes what has a name of frame::temporary_name() of this
/// process in the directory.
class WatchedDirectory {
 public:
  /// Borrows the descriptor, which is open for reading.
  explicit WatchedDirectory(int directory);
  ~WatchedDirectory();
  WatchedDirectory(const WatchedDirectory&) = delete;
  WatchedDirectory& operator=(const WatchedDirectory&) = delete;

 private:
  const int directory_;
};

/// The lock on a frame or directory that the program changes or replaces. If the process is ended
/// by force while the object lives, another thread releases the lock, so that no lock file stays
/// behind. A program that uses the journal of its lock needs an fs::MountLock instead.
class WatchedLock {
 public:
  /// Waits for the lock as fs::MountLock does, up to kMountLockTimeout. `shown` is the path in the
  /// message about the wait.
  WatchedLock(int directory, const std::optional<std::string>& single, const std::string& shown);
  ~WatchedLock();
  WatchedLock(const WatchedLock&) = delete;
  WatchedLock& operator=(const WatchedLock&) = delete;

  fs::MountLock* operator->() const { return lock_->get(); }

 private:
  std::list<std::unique_ptr<fs::MountLock>>::iterator lock_;
};

}  // namespace bloscfs::tools
