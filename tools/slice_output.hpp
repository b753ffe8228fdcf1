#pragma once
// Writes slices of arrays, first rows, and arrays as CSV.

#include "tools/b2frame_commands.hpp"
#include "tools/elements.hpp"
#include "tools/output_file.hpp"
#include "tools/text_output.hpp"

namespace bloscfs::tools {

/// Returns the items that `options` ask for, cut at `count`. Throws UsageError.
ItemRange wanted_items(const ExtractOptions& options, std::int64_t count);

/// True if an array is written to a file whose name promises CSV.
bool becomes_csv(const ExtractOptions& options, const Input& input);

/// Writes the items that remain after the slice, the range of items (for one dimension), and
/// `options.rows`. Throws UsageError, and Error(unsupported) if the items cannot have the wanted
/// format.
void write_slice(const ExtractOptions& options, Elements& elements, OutputFile& out);

}  // namespace bloscfs::tools
