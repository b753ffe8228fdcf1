#pragma once
// Which settings suit a file: found on samples of its contents, and measured.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/run_limits.hpp"
#include "tools/settings_measurement.hpp"

namespace bloscfs::tools {

struct AdvisedSettings {
  MeasuredSettings measured;
  std::string options;             ///< of b2frame create
  std::vector<std::string> marks;  ///< goals that they are best for; "now", or "usual"
};

struct Advice {
  std::string file;
  std::int64_t contents = 0;              ///< bytes
  std::int64_t sampled = 0;               ///< bytes that were looked at
  std::optional<double> stored_ratio;     ///< of a frame: contents to stored bytes
  std::vector<AdvisedSettings> settings;  ///< what stores least first
};

/// Ends of the parts of the work, from its beginning; each may be exceeded by one step.
struct AdviceTimes {
  std::chrono::milliseconds reading{1500}, search{3000}, measuring{6500};
};

/// Takes less than 10 seconds, whatever the file is. `typesize` is that of the items of a file that
/// is no frame and no array; absent: to be found out. Throws Error, std::system_error, FileError
/// and std::runtime_error for what has no contents, UsageError, Interrupted.
Advice advise(const std::string& file, std::optional<std::int32_t> typesize, RunLimits& limits,
              const AdviceTimes& times = {});

/// The options of create that give these settings, where items of `known_typesize` bytes need not
/// be told (0: they do).
std::string create_options_text(const codec::EncodeSettings& settings, std::int32_t known_typesize);

}  // namespace bloscfs::tools
