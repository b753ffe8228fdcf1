#pragma once
// Recommends settings for a file, by measuring settings on samples of its contents.

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
  std::string options;  ///< options of b2frame create that give these settings
  /// Marks such as "smallest" or "now". meaning_of_mark() explains each of them.
  std::vector<std::string> marks;
  std::string name;         ///< unique; made of the marks, or else of codec and level
  double size = 0;          ///< estimated bytes of the contents, stored with these settings
  bool is_present = false;  ///< the frame's own settings; of other files, the defaults of create
};

struct Advice {
  std::string file;
  std::int64_t contents = 0;              ///< bytes
  std::int64_t sampled = 0;               ///< bytes of the samples
  std::int32_t typesize = 0;              ///< item size in bytes; 0: not known
  std::optional<std::int64_t> stored;     ///< bytes of the frame's chunks; only for a frame
  std::optional<double> stored_ratio;     ///< contents / stored; padding does not count
  std::vector<AdvisedSettings> settings;  ///< smallest size first
};

/// Deadlines of the three steps of advise(), counted from its start. A step can exceed its deadline
/// by the last read, trial or measurement that it began.
struct AdviceTimes {
  std::chrono::milliseconds reading{1500}, search{3000}, measuring{6500};
};

/// Measures settings on samples of the file. Takes less than 10 seconds, whatever the size of the
/// file. `typesize` is the item size of a file that is neither a frame nor an array; if absent,
/// advise() finds one that suits. Throws Error, std::system_error, FileError, UsageError and
/// Interrupted, and std::runtime_error for a file without contents.
Advice advise(const std::string& file, std::optional<std::int32_t> typesize, RunLimits& limits,
              const AdviceTimes& times = {});

/// The mark that --apply uses if no name is given.
inline constexpr const char* kRecommended = "balanced";
/// Returns a text such as "the smallest of these". `mark` must be a mark that advise() sets.
const char* meaning_of_mark(std::string_view mark);

/// Returns the settings with that name or mark. Throws std::runtime_error, which lists the names,
/// if no settings have it.
const AdvisedSettings& find_settings(const Advice& advice, const std::string& name);

/// Returns the options of create that give these settings. Leaves out --typesize if the item size
/// is `known_typesize`. With 0, the text always has --typesize.
std::string create_options_text(const codec::EncodeSettings& settings, std::int32_t known_typesize);

}  // namespace bloscfs::tools
