#pragma once
// b2frame create -r: a directory to one of frames.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Makes OUT, a mount of which shows the tree that INPUT is: each file is a frame, or an array
/// where it is a NPY file of one; directories and symlinks stay what they are. Files that an
/// earlier run has done are left. Returns the exit status.
int create_tree(const CreateOptions& options);

}  // namespace bloscfs::tools
