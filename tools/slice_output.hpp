#pragma once
// Writes slices of arrays, first rows, and arrays as CSV.

#include "tools/b2frame_commands.hpp"
#include "tools/elements.hpp"
#include "tools/output_file.hpp"
#include "tools/text_output.hpp"

namespace bloscfs::tools {

/// The items asked for, cut at the end of what there is. Throws UsageError.
ItemRange wanted_items(const ExtractOptions& options, std::int64_t count);

/// True for an array that goes to a file whose name promises CSV.
bool becomes_csv(const ExtractOptions& options, const Input& input);

/// The items that a slice, a range of items of one dimension and `options.rows` leave. Throws
/// UsageError, Error(unsupported) where they cannot be what is asked for.
void write_slice(const ExtractOptions& options, Elements& elements, OutputFile& out);

}  // namespace bloscfs::tools
