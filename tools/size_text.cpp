#include "tools/size_text.hpp"

#include <fmt/core.h>

namespace bloscfs::tools {
namespace {

/// Shows one digit behind the point if there is room for it.
std::string short_number(double number) {
  return number < 99.95 ? fmt::format("{:.1f}", number) : fmt::format("{:.0f}", number);
}

}  // namespace

std::string size_text(double bytes) {
  constexpr double kStep = 1024;
  // A size that would be shown as 1024 gets the next unit.
  constexpr double kMost = 1023.5;
  if (bytes < kMost) return fmt::format("{:.0f}", bytes);
  const char* unit = "KMGTP";
  for (bytes /= kStep; bytes >= kMost && unit[1] != '\0'; bytes /= kStep) unit++;
  return short_number(bytes) + *unit;
}

std::string size_with_unit(double bytes) {
  const std::string text = size_text(bytes);
  const std::size_t prefix = text.find_first_not_of("0123456789.");
  if (prefix == std::string::npos) return text + " B";
  return fmt::format("{} {}iB", text.substr(0, prefix), text.substr(prefix));
}

std::string time_text(double microseconds) {
  constexpr double kStep = 1000;
  if (microseconds < kStep) return fmt::format("{:.0f}us", microseconds);
  const double milliseconds = microseconds / kStep;
  if (milliseconds < kStep) return short_number(milliseconds) + "ms";
  return short_number(milliseconds / kStep) + "s";
}

}  // namespace bloscfs::tools
