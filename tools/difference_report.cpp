#include "tools/difference_report.hpp"

#include <utility>

#include <fmt/core.h>

#include "fs/support/printable.hpp"

namespace bloscfs::tools {

DifferenceReport::DifferenceReport(std::string first, std::string other, bool is_brief)
    : first_(std::move(first)), other_(std::move(other)), is_brief_(is_brief) {}

void DifferenceReport::tell(const std::string& difference) {
  if (is_brief_ && !has_any_)
    fmt::print("{} and {} differ\n", fs::printable(first_), fs::printable(other_));
  has_any_ = true;
  if (is_brief_) return;
  fmt::print("{} {} differ: {}\n", fs::printable(first_), fs::printable(other_), difference);
}

std::string DifferenceReport::shortened(std::string text) {
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return fs::printable(text);
}

}  // namespace bloscfs::tools
