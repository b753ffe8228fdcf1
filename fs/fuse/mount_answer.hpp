#pragma once
// Parses the answers of a mount's daemon. Any FUSE filesystem can call itself bloscfs, so an answer
// may contain anything.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace bloscfs::fs {

/// Parses a JSON object. Refuses deep nesting, because printing it recurses. Throws
/// std::runtime_error with a message for the user.
nlohmann::json parse_answer(const std::string& text);

struct DaemonNumbers {
  pid_t pid = 0;  ///< positive, but may be of a process that is unrelated to the mount
  std::uint64_t dirty_bytes = 0, cache_bytes = 0, cache_size = 0;
  std::uint64_t failing_files = 0, rescued_files = 0, conflicts = 0;
  std::string version;  ///< empty if the daemon does not report it
};

/// Parses the value of kStatsAttribute. Throws what parse_answer() throws.
DaemonNumbers parse_numbers(const std::string& text);

struct UncommittedFile {
  std::string name, error;
  std::int64_t bytes = 0;
};

/// Returns the files of the value of kUncommittedAttribute whose last commit has failed. Throws
/// what parse_answer() throws.
std::vector<UncommittedFile> failed_files(const std::string& text);

}  // namespace bloscfs::fs
