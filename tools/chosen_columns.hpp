#pragma once
// Selects the columns that the command line names.

#include <algorithm>
#include <string>
#include <vector>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Throws UsageError that says that `name` is not one of the columns, and lists them.
[[noreturn]] void refuse_column(const std::string& name, const std::vector<std::string>& columns);

/// Returns the columns with these names, in the order of the names, or all columns if there are no
/// names. Throws UsageError for a name that no column has.
template <typename Column>
std::vector<Column> chosen_columns(std::vector<Column> columns,
                                   const std::vector<std::string>& names) {
  if (names.empty()) return columns;
  std::vector<Column> chosen;
  for (const std::string& name : names) {
    const auto column = std::ranges::find(columns, name, &Column::name);
    if (column == columns.end()) {
      std::vector<std::string> all;
      all.reserve(columns.size());
      for (const Column& one : columns) all.push_back(one.name);
      refuse_column(name, all);
    }
    chosen.push_back(*column);
  }
  return chosen;
}

}  // namespace bloscfs::tools
