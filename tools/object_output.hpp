#pragma once
// Writes lists of Python's objects as JSON, one object a line.

#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// Throws UsageError if the input is not a list of objects, Error that names the bad chunk, and
/// FileError for `out`. Needs the memory of one document and its JSON: several times
/// frame::kMaxDocument.
void write_objects(Input& input, OutputFile& out);

}  // namespace bloscfs::tools
