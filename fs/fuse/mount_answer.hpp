#pragma once
// What the daemon of a mount answers, parsed. Any FUSE filesystem can call itself bloscfs, so an
// answer may hold anything.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace bloscfs::fs {

/// An object that is nested so little that it can be printed. Throws std::runtime_error with a
/// message for the user.
nlohmann::json parse_answer(const std::string& text);

struct DaemonNumbers {
  pid_t pid = 0;  ///< positive, but perhaps of a process that has nothing to do with the mount
  std::uint64_t dirty_bytes = 0, cache_bytes = 0, cache_size = 0;
  std::uint64_t failing_files = 0, rescued_files = 0;
  std::string version;  ///< empty: a daemon that does not tell
};

/// Of the answer to kStatsAttribute. Throws as parse_answer().
DaemonNumbers parse_numbers(const std::string& text);

}  // namespace bloscfs::fs
