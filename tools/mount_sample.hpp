#pragma once
// What the daemon of a mount has counted, at one moment or between two.

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::tools {

struct OperationCounts {
  std::uint64_t count = 0, bytes = 0, total_us = 0;
  std::map<std::uint64_t, std::uint64_t> buckets;  ///< by the longest time of each, microseconds

  /// The longest time of the bucket that has the one that so many of 100 are not longer than.
  std::uint64_t percentile(unsigned percent) const;
};

struct MountSample {
  double seconds = 0;       ///< that the counts are of: since the mount, or since another sample
  nlohmann::json counters;  ///< as the mount has them now: some count, and some are states
  nlohmann::json counters_before = nlohmann::json::object();
  std::map<std::string, OperationCounts> operations;
  nlohmann::json requests;  ///< those under way, null where the caller may not know

  /// What of a counter was counted.
  std::uint64_t counted(const char* name) const;
  /// What has happened since `before`; states stay as they are.
  MountSample since(const MountSample& before) const;
};

/// Asks the mount. Throws std::system_error (ETIMEDOUT, ENOTCONN, EACCES), std::runtime_error with
/// a message for the user.
MountSample take_sample(const fs::MountEntry& mount);

}  // namespace bloscfs::tools
