#pragma once
// Writes tables as text, and as NPY files of structured items.

#include "tools/output_file.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {

/// In CSV a line of names and one for each row, else one for each row. The table has the style.
/// `delimiter` is that of CSV. Throws Error, which names the column, FileError of `out`.
void write_table_text(Table& table, CellStyle style, char delimiter, OutputFile& out);

/// The rows in columns of equal width below the names, for a terminal. The table has the style
/// `text`. Errors as write_table_text().
void write_table_rows(Table& table, OutputFile& out);

/// The items of the rows that are wanted, one row behind the other; next_row() has not been called.
/// Throws Error(unsupported) for columns that
/// no NPY file can have.
void write_table_npy(Table& table, OutputFile& out);

}  // namespace bloscfs::tools
