#pragma once
// Which settings suit a file: found on samples of its contents, and measured.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run_limits.hpp"
#include "tools/settings_measurement.hpp"

namespace bloscfs::tools {

struct AdvisedSettings {
  MeasuredSettings measured;
  std::string options;             ///< of b2frame create
  std::vector<std::string> marks;  ///< what they are best for, or are now: see meaning_of_mark()
  std::string name;                ///< the marks, or codec and level; no others have it
  double size = 0;                 ///< bytes that the contents would take, about
  bool is_present = false;         ///< those of the frame, or what create takes
};

struct Advice {
  std::string file;
  std::int64_t contents = 0;              ///< bytes
  std::int64_t sampled = 0;               ///< bytes that were looked at
  std::int32_t typesize = 0;              ///< bytes of its items; 0: nobody knows
  std::optional<std::int64_t> stored;     ///< bytes of a frame's chunks
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

/// What --apply takes where no name is given.
inline constexpr const char* kRecommended = "balanced";
/// "smallest of all that were tried"
const char* meaning_of_mark(std::string_view mark);

/// The settings that have that name, or that mark. Throws std::runtime_error, which tells the names
/// that there are.
const AdvisedSettings& find_settings(const Advice& advice, const std::string& name);

/// The options of create that give these settings, where items of `known_typesize` bytes need not
/// be told (0: they do).
std::string create_options_text(const codec::EncodeSettings& settings, std::int32_t known_typesize);

}  // namespace bloscfs::tools
