#pragma once
// Writes lists of Python's objects as JSON, an object a line.

#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// Throws UsageError where the input is no such list, Error that says which chunk is bad, FileError
/// of `out`. Takes the memory of one document and its JSON, some times frame::kMaxDocument.
void write_objects(Input& input, OutputFile& out);

}  // namespace bloscfs::tools
