#pragma once
// NumPy's datetime64 as ISO 8601 text.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::tools {

/// Of datetime64 and timedelta64: no time at all.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

struct DateUnit {
  std::string_view name;   ///< "Y", "M", "W", "D", "h", "m", "s", "ms" to "as"
  std::int64_t count = 1;  ///< of it that a step has
};

/// "[ns]" or "[25us]"; nullopt for anything else.
std::optional<DateUnit> parse_date_unit(std::string_view text);

/// As numpy.datetime_as_string() has it: to the unit, "NaT" for kNoTime. Throws
/// Error(unsupported) for a date that 64 bits of seconds do not reach.
std::string date_text(std::int64_t value, const DateUnit& unit);

}  // namespace bloscfs::tools
