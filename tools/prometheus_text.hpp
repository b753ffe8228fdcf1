#pragma once
// The counters of mounts in Prometheus's text format, for the textfile collector of node_exporter.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/files/mount_table.hpp"
#include "tools/mount_sample.hpp"

namespace bloscfs::tools {

struct MountReading {
  fs::MountEntry mount;
  std::optional<MountSample> sample;  ///< nullopt if the daemon has died or does not answer
};

/// Returns all metrics of all mounts, each with its HELP and TYPE line. The labels are mountpoint
/// and source.
std::string prometheus_text(const std::vector<MountReading>& readings);

}  // namespace bloscfs::tools
