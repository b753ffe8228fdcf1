#pragma once
// Lays out a table for a terminal.

#include <cstddef>
#include <string>
#include <vector>

namespace bloscfs::tools {

enum class Align { left, right };

/// Rows with the same number of cells. The first row has the heads. Two spaces separate the
/// columns. Replaces characters that could control the terminal.
class TextColumns {
 public:
  TextColumns(std::vector<Align> columns, const std::vector<std::string>& heads);

  void add(const std::vector<std::string>& cells);
  /// True if many rows wait. The caller must then call take(), so that memory is bounded.
  bool is_full() const;
  /// Returns the lines of the rows since the last call. The first call also returns the heads. Each
  /// column is as wide as its widest cell so far.
  std::string take();

 private:
  using Cells = std::vector<std::string>;
  std::string line_of(const Cells& cells) const;

  const std::vector<Align> columns_;
  std::vector<std::size_t> widths_;  ///< in characters
  std::vector<Cells> rows_;
};

/// Returns at most `count` UTF-8 characters of the beginning of a line.
std::string first_characters(const std::string& line, std::size_t count);

/// Formats a whole table at once. The first row has the heads.
std::string text_columns(const std::vector<Align>& columns,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace bloscfs::tools
