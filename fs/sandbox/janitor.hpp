#pragma once
// A process outside the sandbox that unmounts, whatever happens to the daemon.

#include <string>

#include "fs/sandbox/outside_process.hpp"

namespace bloscfs::fs {

/// Starts a second process that waits for the daemon's end, and does nothing else. It leaves the
/// daemon's session and keeps no files open. It survives the signals that stop a service, and the
/// end of the terminal. It lazily unmounts the daemon's own mount, but not a mount that another
/// program has made at the mountpoint since. If a signal has killed the daemon, it logs that.
class Janitor {
 public:
  /// Forks: the caller must have no other threads, and no locks or descriptors that the new process
  /// must not inherit for a moment. Both paths are absolute. If `log_file` is empty, the system log
  /// gets the message. Throws std::system_error.
  Janitor(const std::string& mountpoint, const std::string& log_file);
  /// Waits until the process has unmounted and ended.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  /// Reports that the present mount at the mountpoint is the daemon's. Throws std::system_error,
  /// also if the process is gone.
  void take_charge();
  /// Unmounts the daemon's mount, unless it is unmounted already. Returns false if it is still
  /// mounted, or the process is gone. From then on, the process unmounts nothing more.
  bool unmount();
  /// Unmounts the daemon's mount if no process uses it, for example as its current directory.
  /// Returns false if one does, or the process is gone. The daemon must go on serving until this
  /// returns.
  bool unmount_if_unused();

 private:
  const std::string mountpoint_;
  OutsideProcess process_;
};

}  // namespace bloscfs::fs
