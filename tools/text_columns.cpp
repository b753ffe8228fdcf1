#include "tools/text_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fs/support/printable.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::size_t kMostRowsWaiting = 1024;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Returns the number of UTF-8 characters, each of which counts as one column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

}  // namespace

TextColumns::TextColumns(std::vector<Align> columns, const std::vector<std::string>& heads)
    : columns_(std::move(columns)), widths_(columns_.size()) {
  add(heads);
}

void TextColumns::add(const std::vector<std::string>& cells) {
  Cells& shown = rows_.emplace_back();
  for (std::size_t i = 0; i < columns_.size(); i++) {
    shown.push_back(fs::printable(cells[i]));
    widths_[i] = std::max(widths_[i], width_of(shown.back()));
  }
}

bool TextColumns::is_full() const { return rows_.size() >= kMostRowsWaiting; }

std::string TextColumns::line_of(const Cells& cells) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); i++) {
    if (i > 0) line += "  ";
    const std::string blanks(widths_[i] - width_of(cells[i]), ' ');
    line += columns_[i] == Align::left ? cells[i] + blanks : blanks + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TextColumns::take() {
  std::string text;
  for (const Cells& row : rows_) text += line_of(row);
  rows_.clear();
  return text;
}

std::string first_characters(const std::string& line, std::size_t count) {
  std::size_t end = 0;
  for (; end < line.size(); end++)
    if (begins_character(line[end]) && count-- == 0) break;
  return line.substr(0, end);
}

std::string text_columns(const std::vector<Align>& columns,
                         const std::vector<std::vector<std::string>>& rows) {
  TextColumns table(columns, rows.front());
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) table.add(*row);
  return table.take();
}

}  // namespace bloscfs::tools
