#pragma once
// Numbers, booleans and times as tables have them in text. No function throws.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "tools/column_type.hpp"

namespace bloscfs::tools {

enum class NumberForm { none, integer, floating };

/// Whether a text is a number that can be given back as it is: leading zeros and a plus sign, as
/// postcodes and phone numbers have them, make a text. "nan", "inf" and "-inf" are floating.
NumberForm number_form(std::string_view text);

/// An optional sign and decimal digits; nullopt also where they pass the type's range.
template <typename Number>
std::optional<Number> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(text.starts_with("+-") ? 0 : 1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// An optional sign, digits with or without a point, an exponent; "nan", "inf" and "infinity" in
/// any case. nullopt where the number is too large; one that is too small is the nearest.
std::optional<double> parse_double(std::string_view text);
std::optional<float> parse_float(std::string_view text);

/// "True", "true", "False" or "false".
std::optional<bool> parse_boolean(std::string_view text);

/// A date, or a date and a time, of ISO 8601.
struct Timestamp {
  std::int64_t seconds = 0;      ///< since 1970, of UTC if it has a zone
  std::int32_t nanoseconds = 0;  ///< 0 to 999999999
  int digits = 0;                ///< of the fraction of a second, without zeros at its end
  bool has_zone = false;         ///< `Z`, or an offset
};

/// YYYY-MM-DD, or that with T or a space and HH:MM[:SS[.FRACTION]], and Z or +HH:MM behind it.
/// Seconds have up to nine digits behind the point.
std::optional<Timestamp> parse_timestamp(std::string_view text);

/// What a timestamp is in a unit; nullopt where the unit loses digits, or 64 bits cannot hold it.
std::optional<std::int64_t> timestamp_in(const Timestamp& timestamp, TimeUnit unit);

}  // namespace bloscfs::tools
