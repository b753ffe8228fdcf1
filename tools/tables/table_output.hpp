#pragma once
// Writes tables as text, and as NPY files with structured items.

#include "tools/output_file.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {

/// Writes one line for each row; in CSV also a line with the names. `style` must be the style of
/// the table. `delimiter` is for CSV. Throws Error that names the column, and FileError for `out`.
void write_table_text(Table& table, CellStyle style, char delimiter, OutputFile& out);

/// Writes the rows for a terminal, in aligned columns below the names. The table must have
/// the style `text`. Throws what write_table_text() throws.
void write_table_rows(Table& table, OutputFile& out);

/// Writes the items of the wanted rows, row by row. next_row() must not have been called before.
/// Throws Error(unsupported) if a NPY file cannot hold the columns.
void write_table_npy(Table& table, OutputFile& out);

}  // namespace bloscfs::tools
