#pragma once
// The counters of a mount's daemon, at one moment or between two moments.

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "fs/source/local/files/mount_table.hpp"

namespace bloscfs::tools {

struct OperationCounts {
  std::uint64_t count = 0, bytes = 0, total_us = 0;
  /// Number of requests by the longest time of the bucket, in microseconds.
  std::map<std::uint64_t, std::uint64_t> buckets;

  /// Returns an upper bound of the percentile, in microseconds: the longest time of its bucket.
  std::uint64_t percentile(unsigned percent) const;
};

struct MountSample {
  double seconds = 0;       ///< covered time: since the mount, or since another sample
  nlohmann::json counters;  ///< current values; some are counters, some are states
  /// Counters of the earlier sample; empty: since the mount.
  nlohmann::json counters_before = nlohmann::json::object();
  std::map<std::string, OperationCounts> operations;
  nlohmann::json requests;  ///< requests in progress; null if the caller may not see them

  /// Returns by how much a counter grew in the covered time.
  std::uint64_t counted(const char* name) const;
  /// Returns the difference to `before`. States keep their current values.
  MountSample since(const MountSample& before) const;
};

/// Asks the daemon of the mount. Throws std::system_error (ETIMEDOUT, ENOTCONN, EACCES), or
/// std::runtime_error with a message for the user.
MountSample take_sample(const fs::MountEntry& mount);

}  // namespace bloscfs::tools
