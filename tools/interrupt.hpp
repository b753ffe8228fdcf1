#pragma once
// The rule for every subcommand: SIGINT, SIGTERM or SIGHUP ends b2frame within a second, whatever
// it is doing. No temporary file stays behind.
//
// Long work calls throw_if_interrupted() from time to time, and unwinds. Some work cannot do that:
// one large block, a server that does not answer, a lock. It gets a grace period of
// kInterruptGrace. Then a separate thread removes the temporaries in every WatchedDirectory,
// releases every WatchedLock, and ends the process by the signal.

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

/// All code passes it on to main(), which ends the process by the signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

/// Starts the thread that waits for SIGINT, SIGTERM and SIGHUP, except those that are ignored (for
/// example by nohup). A second signal ends the grace period. Must be called once, before other
/// threads start, because they inherit the blocked signals.
void watch_for_interrupts();

/// Throws Interrupted if a signal has arrived.
void throw_if_interrupted();

/// Returns a descriptor that is readable once a signal has arrived; -1 before
/// watch_for_interrupts().
int interrupt_descriptor();

/// Ends the process by `signal`, which must be one that watch_for_interrupts() waits for.
[[noreturn]] void end_by_signal(int signal);

/// While an object lives, the watching thread does not end the process. For steps that must not be
/// interrupted, and that take less than half a second. A thread may hold several.
class InterruptHold {
 public:
  InterruptHold();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// While an object lives, the watching thread removes temporaries from the directory when the grace
/// period ends. It removes the entries whose names this process made with frame::temporary_name().
class WatchedDirectory {
 public:
  /// Borrows the descriptor, which must be open for reading.
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
