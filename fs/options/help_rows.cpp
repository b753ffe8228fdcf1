#include "fs/options/help_rows.hpp"

#include <algorithm>

namespace bloscfs::fs {
namespace {

constexpr std::size_t kColumns = 80;

/// Returns the first words of `text` that fit into `width` columns, at least one, and removes them
/// from `text`.
std::string_view take_line(std::string_view& text, std::size_t width) {
  std::size_t end = text.size();
  if (end > width) {
    end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string help_row(std::string_view name, std::string_view help, std::size_t column) {
  std::string row = "  " + std::string(name);
  if (row.size() > column && !help.empty()) row += '\n';
  std::size_t at = row.ends_with('\n') ? 0 : row.size();
  while (!help.empty()) {
    row.append(column - at, ' ');
    row += take_line(help, kColumns - column);
    if (!help.empty()) row += '\n';
    at = 0;
  }
  return row + '\n';
}

}  // namespace bloscfs::fs
