#include "tools/date_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "fs/options/option_values.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

/// How a unit relates to days and seconds.
struct UnitRow {
  std::string_view name;
  std::int64_t per_day;  ///< 0: shorter than a second
  std::int64_t per_second;
  int digits;  ///< of the fraction of a second
};
constexpr std::array<UnitRow, 9> kClockUnits{{{"h", 24, 0, 0},
                                              {"m", 1440, 0, 0},
                                              {"s", kSecondsPerDay, 1, 0},
                                              {"ms", 0, 1000, 3},
                                              {"us", 0, 1000000, 6},
                                              {"ns", 0, 1000000000, 9},
                                              {"ps", 0, 1000000000000, 12},
                                              {"fs", 0, 1000000000000000, 15},
                                              {"as", 0, 1000000000000000000, 18}}};

struct Division {
  std::int64_t quotient, rest;  ///< `rest` is never negative
};
Division divide(std::int64_t value, std::int64_t by) {
  std::int64_t quotient = value / by;
  std::int64_t rest = value % by;
  if (rest < 0) {
    rest += by;
    quotient--;
  }
  return {quotient, rest};
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) codec::throw_unsupported("a date too far away");
  return product;
}

std::string year_text(std::int64_t year) {
  return year < 0 ? fmt::format("-{:04}", -year) : fmt::format("{:04}", year);
}

/// Formats a day, counted from 1970, in the Gregorian calendar. The calendar repeats in eras of 400
/// years.
std::string day_text(std::int64_t days) {
  constexpr std::int64_t kDaysPerEra = 146097, kDaysTo1970 = 719468;  // eras begin on March 1
  if (days > std::numeric_limits<std::int64_t>::max() - kDaysTo1970)
    codec::throw_unsupported("a date too far away");
  const auto [era, day] = divide(days + kDaysTo1970, kDaysPerEra);
  const std::int64_t year = (day - day / 1460 + day / 36524 - day / (kDaysPerEra - 1)) / 365;
  const std::int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return fmt::format("{}-{:02}-{:02}", year_text(era * 400 + year + (month <= 2 ? 1 : 0)), month,
                     day_of_month);
}

std::string clock_text(std::int64_t value, const UnitRow& unit) {
  if (unit.name == "h") {
    const auto [day, hour] = divide(value, unit.per_day);
    return fmt::format("{}T{:02}", day_text(day), hour);
  }
  if (unit.name == "m") {
    const auto [day, minute] = divide(value, unit.per_day);
    return fmt::format("{}T{:02}:{:02}", day_text(day), minute / 60, minute % 60);
  }
  const auto [seconds, fraction] = divide(value, unit.per_second);
  const auto [day, second] = divide(seconds, kSecondsPerDay);
  std::string text = fmt::format("{}T{:02}:{:02}:{:02}", day_text(day), second / 3600,
                                 second / 60 % 60, second % 60);
  if (unit.digits > 0) text += fmt::format(".{:0{}}", fraction, unit.digits);
  return text;
}

const UnitRow* find_clock_unit(std::string_view name) {
  const auto* found = std::find_if(kClockUnits.begin(), kClockUnits.end(),
                                   [&](const UnitRow& row) { return row.name == name; });
  return found == kClockUnits.end() ? nullptr : found;
}

}  // namespace

std::optional<DateUnit> parse_date_unit(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  DateUnit unit;
  if (digits > 0) {
    const auto count = fs::parse_number(text.substr(0, digits));
    if (!count || *count == 0) return std::nullopt;
    unit.count = *count;
  }
  for (const std::string_view name : {"Y", "M", "W", "D"})
    if (text.substr(digits) == name) unit.name = name;
  if (const UnitRow* clock = find_clock_unit(text.substr(digits))) unit.name = clock->name;
  return unit.name.empty() ? std::nullopt : std::optional(unit);
}

std::string date_text(std::int64_t value, const DateUnit& unit) {
  constexpr std::int64_t kFirstYear = 1970;
  if (value == kNoTime) return "NaT";
  value = times(value, unit.count);
  if (const UnitRow* clock = find_clock_unit(unit.name)) return clock_text(value, *clock);
  if (unit.name == "W") return day_text(times(value, 7));
  if (unit.name == "D") return day_text(value);
  const auto [years, month] = unit.name == "M" ? divide(value, 12) : Division{value, 0};
  if (years > std::numeric_limits<std::int64_t>::max() - kFirstYear)
    codec::throw_unsupported("a date too far away");
  const std::string year = year_text(years + kFirstYear);
  return unit.name == "M" ? fmt::format("{}-{:02}", year, month + 1) : year;
}

}  // namespace bloscfs::tools
