#pragma once
// b2frame extract -r: a directory of frames to one of files.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Makes OUT the tree that a mount of FILE would show. Files that an earlier run has done are left.
/// Returns the exit status.
int extract_tree(const ExtractOptions& options);

}  // namespace bloscfs::tools
