#pragma once
// Commands of bloscfs on existing mounts. Each returns the exit status, and reports failures on
// stderr.

#include <string>

namespace bloscfs::tools {

/// Prints the mounts whose daemons let the caller in: as a table, or with `json` as one object a
/// line.
int list_mounts(bool json);

struct StatsRequest {
  std::string mountpoint;  ///< if empty, all mounts; needs `prometheus`
  bool is_given = false;
  bool watch = false;  ///< repeats each second, with the numbers of that second
  bool json = false;
  bool prometheus = false;  ///< Prometheus's text format
};
/// Prints what a mount does, and what its requests wait for.
int show_stats(const StatsRequest& request);

/// Commits all changes, unmounts, and returns when the daemon has ended. The mount stays if a file
/// cannot be committed, or if the mount is in use.
int unmount(const std::string& mountpoint);

}  // namespace bloscfs::tools
