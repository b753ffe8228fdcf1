#pragma once
// Runs the built b2frame.

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

inline ProcessResult b2frame(Arguments arguments, Seconds limit = Seconds{60}) {
  arguments.insert(arguments.begin(), B2FRAME);
  ProcessSettings settings;
  settings.limit = limit;
  return run(arguments, settings);
}

inline Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline bool is_message_about(const std::string& err, const std::string& file) {
  return err.starts_with("b2frame: " + file + ": ") && err.ends_with("\n");
}

/// Returns the output of `info --json`.
inline nlohmann::json info_of(const fs_std::path& frame) {
  const ProcessResult result = b2frame({"info", "--json", frame.string()});
  if (!result.ok()) throw std::runtime_error(result.description());
  return nlohmann::json::parse(result.out);
}

/// Returns the decompressed contents, as an NPY file if `npy`.
inline std::string extracted(const fs_std::path& frame, bool npy = false) {
  const ProcessResult result =
      b2frame(Arguments{"extract"} + (npy ? Arguments{"--npy"} : Arguments{}) +
              Arguments{frame.string(), "-o", "-"});
  if (!result.ok()) throw std::runtime_error(result.description());
  return result.out;
}

}  // namespace bloscfs::test
