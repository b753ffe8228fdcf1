#pragma once
// Selects the columns that the command line names.

#include <algorithm>
#include <string>
#include <vector>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Returns the columns with these names, in the order of the names, or all columns if there are no
/// names. Throws UsageError for a name that no column has.
template <typename Column>
std::vector<Column> chosen_columns(std::vector<Column> columns,
                                   const std::vector<std::string>& names) {
  if (names.empty()) return columns;
  std::vector<Column> chosen;
  for (const std::string& name : names) {
    const auto column = std::ranges::find(columns, name, &Column::name);
    if (column == columns.end()) throw UsageError("no column " + name);
    chosen.push_back(*column);
  }
  return chosen;
}

}  // namespace bloscfs::tools
