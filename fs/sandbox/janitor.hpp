#pragma once
// A process outside of the sandbox that unmounts, whatever happens to the daemon.

#include <string>

#include "fs/sandbox/outside_process.hpp"

namespace bloscfs::fs {

/// From the object's construction on a second process waits for the daemon's end, and does nothing
/// else. It has left the daemon's session, keeps nothing open, and outlives what ends the others:
/// the signals that stop a service, or the end of the terminal. Of what is mounted at the
/// mountpoint it unmounts, lazily, the daemon's own mount alone: not one that somebody has made
/// there since.
class Janitor {
 public:
  /// To be called while there are no other threads, and nothing is held that the process is not to
  /// hold for a moment, too. `mountpoint` is absolute. Throws std::system_error.
  explicit Janitor(const std::string& mountpoint);
  /// Waits until the process has done its work and ended.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  /// What is mounted there now is the daemon's. Throws std::system_error, also if the process is
  /// gone.
  void take_charge();
  /// Unmounts now, unless somebody has; false where it is still mounted. From then on whatever is
  /// mounted there is another's.
  bool unmount();

 private:
  const std::string mountpoint_;
  OutsideProcess process_;
};

}  // namespace bloscfs::fs
