#include "tools/columns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

namespace bloscfs::tools {
namespace {

constexpr std::size_t kRowsAtOnce = 1024;

/// Characters of a text in UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

Columns::Columns(std::vector<Column> columns)
    : columns_(std::move(columns)), widths_(columns_.size()) {
  for (std::size_t i = 0; i < columns_.size(); i++) widths_[i] = width_of(columns_[i].title);
}

void Columns::add(std::vector<std::string> texts) {
  for (std::size_t i = 0; i < columns_.size(); i++)
    widths_[i] = std::max(widths_[i], width_of(texts[i]));
  rows_.push_back(std::move(texts));
  if (rows_.size() == kRowsAtOnce) finish();
}

void Columns::finish() {
  if (rows_.empty()) return;
  if (!std::exchange(has_titles_, true)) {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    print(titles);
  }
  for (const auto& row : rows_) print(row);
  rows_.clear();
}

void Columns::print(const std::vector<std::string>& texts) const {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); i++) {
    const std::string padding(widths_[i] - std::min(widths_[i], width_of(texts[i])), ' ');
    if (i > 0) line += "  ";
    if (columns_[i].align == Align::right) line += padding;
    line += texts[i];
    if (columns_[i].align == Align::left && i + 1 < texts.size()) line += padding;
  }
  fmt::print("{}\n", line);
}

std::string human_size(std::int64_t bytes) {
  constexpr double kStep = 1024;
  if (bytes < 1024) return std::to_string(bytes);
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  const std::string units = "KMGTPE";
  for (size /= kStep; size > kStep - 1; size /= kStep) unit++;
  const double tenths = std::ceil(size * 10) / 10;
  return tenths < 10 ? fmt::format("{:.1f}{}", tenths, units[unit])
                     : fmt::format("{:.0f}{}", std::ceil(size), units[unit]);
}

}  // namespace bloscfs::tools
