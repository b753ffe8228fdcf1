#pragma once
// b2frame create of a table: converts comma-separated values to a store of python-blosc2.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// True if the output is a store, and the input is stdin, a .csv or .tsv file, or has options of
/// tables.
bool makes_table(const CreateOptions& options);

/// Returns 0. Throws UsageError, FileError for the output, and Error and others for the input.
int create_table(const CreateOptions& options);

}  // namespace bloscfs::tools
