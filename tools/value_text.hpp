#pragma once
// Parses numbers, booleans and times in the text of tables. No function throws.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "tools/column_type.hpp"

namespace bloscfs::tools {

enum class NumberForm { none, integer, floating };

/// Returns the form of a number. The number must convert back to the same text. So leading zeros or
/// a plus sign, as in postcodes and phone numbers, make it a text. "nan", "inf" and "-inf" are
/// floating.
NumberForm number_form(std::string_view text);

/// Parses an optional sign and decimal digits. Returns nullopt if the text is not an integer, or
/// out of range.
template <typename Number>
std::optional<Number> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(text.starts_with("+-") ? 0 : 1);
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses an optional sign, digits with or without a point, and an exponent; or "nan", "inf" and
/// "infinity" in any case. Returns nullopt if the number is too large. A number that is too small
/// becomes the nearest one.
std::optional<double> parse_double(std::string_view text);
std::optional<float> parse_float(std::string_view text);

/// Parses "True", "true", "False" or "false".
std::optional<bool> parse_boolean(std::string_view text);

/// A date, or a date and a time, in ISO 8601.
struct Timestamp {
  std::int64_t seconds = 0;      ///< since 1970; UTC if it has a zone
  std::int32_t nanoseconds = 0;  ///< 0 to 999999999
  int digits = 0;                ///< digits of the fraction of a second, without trailing zeros
  bool has_zone = false;         ///< `Z`, or an offset
};

/// Parses YYYY-MM-DD, optionally followed by T or a space and HH:MM[:SS[.FRACTION]], and then by Z
/// or +HH:MM. The fraction has up to nine digits.
std::optional<Timestamp> parse_timestamp(std::string_view text);

/// Converts a timestamp to a unit. Returns nullopt if the unit loses digits, or if 64 bits are not
/// enough.
std::optional<std::int64_t> timestamp_in(const Timestamp& timestamp, TimeUnit unit);

}  // namespace bloscfs::tools
