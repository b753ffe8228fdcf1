#pragma once
// A table for a terminal.

#include <cstddef>
#include <string>
#include <vector>

namespace bloscfs::tools {

enum class Align { left, right };

/// Rows of equally many cells, the first one the heads. Columns are two blanks apart, and what is
/// printed of a cell is harmless on a terminal.
class TextColumns {
 public:
  TextColumns(std::vector<Align> columns, const std::vector<std::string>& heads);

  void add(const std::vector<std::string>& cells);
  /// True when so many rows wait that they are to be taken: memory is bounded, however many come.
  bool is_full() const;
  /// The lines of the rows since the last time, the first time below the heads.
  /// Columns are as wide as their widest cell so far.
  std::string take();

 private:
  using Cells = std::vector<std::string>;
  std::string line_of(const Cells& cells) const;

  const std::vector<Align> columns_;
  std::vector<std::size_t> widths_;  ///< in characters
  std::vector<Cells> rows_;
};

/// At most so many characters (UTF-8) of the beginning of a line.
std::string first_characters(const std::string& line, std::size_t count);

/// All of a table at once; the first row has the heads.
std::string text_columns(const std::vector<Align>& columns,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace bloscfs::tools
