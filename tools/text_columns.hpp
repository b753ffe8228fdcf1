#pragma once
// A table for a terminal.

#include <string>
#include <vector>

namespace bloscfs::tools {

enum class Align { left, right };

/// Rows of equally many cells, the first one the heads. Columns are as wide as their widest cell,
/// two blanks apart, and what is printed of a cell is harmless on a terminal. The result has a line
/// for each row.
std::string text_columns(const std::vector<Align>& columns,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace bloscfs::tools
