#include "tools/value_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kNanoseconds = 1000000000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes the digits at the beginning of `rest`, and returns their number.
std::size_t take_digits(std::string_view& rest) {
  const auto* const end = std::find_if_not(rest.begin(), rest.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - rest.begin());
  rest.remove_prefix(count);
  return count;
}

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_float_word(std::string_view text) {
  return equal_ignoring_case(text, "nan") || equal_ignoring_case(text, "inf") ||
         equal_ignoring_case(text, "infinity");
}

/// Returns the form of a number behind its sign: digits, a point, an exponent.
NumberForm unsigned_form(std::string_view rest) {
  std::size_t digits = take_digits(rest);
  if (rest.empty()) return digits > 0 ? NumberForm::integer : NumberForm::none;
  if (take(rest, '.')) digits += take_digits(rest);
  if (digits == 0) return NumberForm::none;
  if (take(rest, 'e') || take(rest, 'E')) {
    if (!take(rest, '-')) take(rest, '+');
    if (take_digits(rest) == 0) return NumberForm::none;
  }
  return rest.empty() ? NumberForm::floating : NumberForm::none;
}

double to_number(const char* text, char** end, double /*type*/) { return std::strtod(text, end); }
float to_number(const char* text, char** end, float /*type*/) { return std::strtof(text, end); }

template <typename Number>
std::optional<Number> parse_floating(std::string_view text) {
  std::string_view rest = text;
  if (!take(rest, '-') && take(rest, '+')) text = rest;
  const bool is_word = is_float_word(rest);
  if (!is_word && unsigned_form(rest) == NumberForm::none) return std::nullopt;
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // from_chars() does not say whether the number is too large or too small.
  value = to_number(std::string(text).c_str(), nullptr, Number());
  return std::isinf(value) ? std::nullopt : std::optional(value);
}

/// Takes a number of exactly `digits` digits.
std::optional<int> take_number(std::string_view& rest, std::size_t digits) {
  if (rest.size() < digits || !std::all_of(rest.begin(), rest.begin() + digits, is_digit))
    return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) value = 10 * value + (rest[i] - '0');
  rest.remove_prefix(digits);
  return value;
}

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_of_month(int year, int month) {
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

/// Returns the days since 1970 in the Gregorian calendar. Years begin in March here, so that a leap
/// day is the last day of its year.
std::int64_t days_since_1970(int year, int month, int day) {
  constexpr std::int64_t kDaysPerEra = 146097, kDaysTo1970 = 719468;
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kDaysTo1970;
}

bool take_date(std::string_view& rest, Timestamp& out) {
  const auto year = take_number(rest, 4);
  if (!year || !take(rest, '-')) return false;
  const auto month = take_number(rest, 2);
  if (!month || *month < 1 || *month > 12 || !take(rest, '-')) return false;
  const auto day = take_number(rest, 2);
  if (!day || *day < 1 || *day > days_of_month(*year, *month)) return false;
  out.seconds = days_since_1970(*year, *month, *day) * kSecondsPerDay;
  return true;
}

bool take_fraction(std::string_view& rest, Timestamp& out) {
  int count = 0;
  std::int32_t value = 0;
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
    if (++count > 9) return false;
    value = 10 * value + (rest.front() - '0');
    if (rest.front() != '0') out.digits = count;
  }
  if (count == 0) return false;
  for (; count < 9; ++count) value *= 10;
  out.nanoseconds = value;
  return true;
}

bool take_clock(std::string_view& rest, Timestamp& out) {
  const auto hour = take_number(rest, 2);
  if (!hour || *hour > 23 || !take(rest, ':')) return false;
  const auto minute = take_number(rest, 2);
  if (!minute || *minute > 59) return false;
  out.seconds += *hour * 3600 + *minute * 60;
  if (!take(rest, ':')) return true;
  const auto second = take_number(rest, 2);
  if (!second || *second > 59) return false;
  out.seconds += *second;
  return !take(rest, '.') || take_fraction(rest, out);
}

/// Returns false if `rest` begins with anything but a zone, or if anything follows the zone. No
/// zone at all is allowed.
bool take_zone(std::string_view rest, Timestamp& out) {
  if (rest.empty()) return true;
  out.has_zone = true;
  if (take(rest, 'Z')) return rest.empty();
  const bool is_west = rest.front() == '-';
  if (!take(rest, '+') && !take(rest, '-')) return false;
  const auto hour = take_number(rest, 2);
  if (!hour || *hour > 23) return false;
  take(rest, ':');
  const auto minute = take_number(rest, 2);
  if (!minute || *minute > 59 || !rest.empty()) return false;
  const int offset = *hour * 3600 + *minute * 60;
  out.seconds += is_west ? offset : -offset;
  return true;
}

}  // namespace

NumberForm number_form(std::string_view text) {
  if (text == "nan" || text == "inf" || text == "-inf") return NumberForm::floating;
  std::string_view rest = text;
  const bool is_negative = take(rest, '-');
  if (rest.size() > 1 && rest[0] == '0' && is_digit(rest[1])) return NumberForm::none;
  const NumberForm form = unsigned_form(rest);
  // An integer cannot express the sign of -0.
  if (form == NumberForm::integer && is_negative && rest == "0") return NumberForm::floating;
  return form;
}

std::optional<double> parse_double(std::string_view text) { return parse_floating<double>(text); }
std::optional<float> parse_float(std::string_view text) { return parse_floating<float>(text); }

std::optional<bool> parse_boolean(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

std::optional<Timestamp> parse_timestamp(std::string_view text) {
  Timestamp timestamp;
  if (!take_date(text, timestamp)) return std::nullopt;
  if (text.empty()) return timestamp;
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  if (!take_clock(text, timestamp) || !take_zone(text, timestamp)) return std::nullopt;
  return timestamp;
}

std::optional<std::int64_t> timestamp_in(const Timestamp& timestamp, TimeUnit unit) {
  const int digits = static_cast<int>(unit);
  if (timestamp.digits > digits) return std::nullopt;
  std::int64_t per_second = 1;
  for (int i = 0; i < digits; ++i) per_second *= 10;
  std::int64_t value = 0;
  if (__builtin_mul_overflow(timestamp.seconds, per_second, &value)) return std::nullopt;
  const std::int64_t fraction = timestamp.nanoseconds / (kNanoseconds / per_second);
  // The smallest 64-bit number stands for an absent time (NaT).
  if (__builtin_add_overflow(value, fraction, &value) ||
      value == std::numeric_limits<std::int64_t>::min())
    return std::nullopt;
  return value;
}

}  // namespace bloscfs::tools
