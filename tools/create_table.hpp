#pragma once
// b2frame create of a table: comma-separated values to a store of python-blosc2.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// True if the names of input and output ask for a table, or that of the output and an option.
bool makes_table(const CreateOptions& options);

/// Returns 0. Throws UsageError, FileError of the output, Error and others of the input.
int create_table(const CreateOptions& options);

}  // namespace bloscfs::tools
