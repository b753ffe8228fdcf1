#pragma once
// b2frame extract -r: writes a directory of frames as a tree of files.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Makes OUT the tree that a mount of FILE would show. Leaves files that an earlier run has made.
/// Returns the exit status.
int extract_tree(const ExtractOptions& options);

}  // namespace bloscfs::tools
