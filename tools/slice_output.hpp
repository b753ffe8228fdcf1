#pragma once
// Writes slices of arrays, first rows, and arrays as CSV.

#include "tools/b2frame_commands.hpp"
#include "tools/elements.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// True for an array that goes to a file whose name promises CSV.
bool becomes_csv(const ExtractOptions& options, const Input& input);

/// The items that `options.slice` and `options.rows` leave, all where both are absent. Throws
/// UsageError, Error(unsupported) where they cannot be what is asked for.
void write_slice(const ExtractOptions& options, Elements& elements, OutputFile& out);

}  // namespace bloscfs::tools
