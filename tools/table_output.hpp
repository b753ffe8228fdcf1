#pragma once
// Writes tables as CSV (RFC 4180, lines end in LF) and as NPY files of structured items.

#include "tools/output_file.hpp"
#include "tools/table.hpp"

namespace bloscfs::tools {

/// A line of names, and one for each row that is not deleted. Floating-point numbers are the
/// shortest text that reads back, booleans True and False. Throws Error: malformed where a text is
/// none.
void write_csv(Table& table, OutputFile& out);

/// The items of a row one behind the other. Throws Error(unsupported) for names that no NPY file
/// can have.
void write_npy(Table& table, OutputFile& out);

}  // namespace bloscfs::tools
