#pragma once
// Formats NumPy's datetime64 as ISO 8601 text.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::tools {

/// The value of datetime64 and timedelta64 that stands for NaT.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

struct DateUnit {
  std::string_view name;   ///< "Y", "M", "W", "D", "h", "m", "s", "ms" to "as"
  std::int64_t count = 1;  ///< number of units in a step
};

/// Parses a text such as "[ns]" or "[25us]". Returns nullopt for anything else.
std::optional<DateUnit> parse_date_unit(std::string_view text);

/// Formats as numpy.datetime_as_string() does: up to the unit, and "NaT" for kNoTime. Throws
/// Error(unsupported) for a date that is too far away for 64-bit arithmetic.
std::string date_text(std::int64_t value, const DateUnit& unit);

}  // namespace bloscfs::tools
