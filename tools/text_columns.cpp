#include "tools/text_columns.hpp"

#include <algorithm>
#include <cstddef>

#include "fs/support/printable.hpp"

namespace bloscfs::tools {
namespace {

/// Characters of UTF-8, of which each counts as one column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string text_columns(const std::vector<Align>& columns,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows) {
    auto& shown = cells.emplace_back();
    for (std::size_t i = 0; i < columns.size(); i++) {
      shown.push_back(fs::printable(row[i]));
      widths[i] = std::max(widths[i], width_of(shown.back()));
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); i++) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - width_of(row[i]), ' ');
      line += columns[i] == Align::left ? row[i] + blanks : blanks + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace bloscfs::tools
