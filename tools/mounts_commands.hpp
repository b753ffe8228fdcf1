#pragma once
// What bloscfs does with mounts that are there. Each returns the exit status, and tells of failures
// on stderr.

#include <string>

namespace bloscfs::tools {

/// Prints the mounts whose daemons let the caller in, as a table, or with `json` as one object a
/// line.
int list_mounts(bool json);

struct StatsRequest {
  std::string mountpoint;  ///< empty: all mounts, with `prometheus`
  bool is_given = false;
  bool watch = false;  ///< again each second, of that second
  bool json = false;
  bool prometheus = false;  ///< in Prometheus's text format
};
/// Prints what a mount does, and what is waited for in it.
int show_stats(const StatsRequest& request);

/// Commits what was written, unmounts, and returns when the daemon has ended. What cannot be
/// committed, or is in use, stays mounted.
int unmount(const std::string& mountpoint);

}  // namespace bloscfs::tools
