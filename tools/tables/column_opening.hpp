#pragma once
// Opens the columns of tables.

#include <cstdint>
#include <memory>

#include "tools/run_limits.hpp"
#include "tools/tables/table_column.hpp"

namespace bloscfs::tools {

/// `table_rows` counts deleted rows, too. `limits` outlives the column. Throws Error without the
/// column's name: malformed, unsupported.
std::unique_ptr<TableColumn> open_table_column(const ColumnSchema& schema, CellStyle style,
                                               const OpenColumnPart& open, std::int64_t table_rows,
                                               RunLimits& limits);

}  // namespace bloscfs::tools
