#pragma once
// The counters of mounts in Prometheus's text format, for the textfile collector of its
// node_exporter.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/files/mount_table.hpp"
#include "tools/mount_sample.hpp"

namespace bloscfs::tools {

struct MountReading {
  fs::MountEntry mount;
  std::optional<MountSample> sample;  ///< none: its daemon has died, or does not answer
};

/// All metrics of all mounts, each metric with its HELP and TYPE line. Labels: mountpoint and
/// source.
std::string prometheus_text(const std::vector<MountReading>& readings);

}  // namespace bloscfs::tools
