#pragma once
// b2frame create -r: converts a directory to a tree of frames.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Makes OUT, so that a mount of OUT shows the same tree as INPUT. Each file becomes a frame: an
/// array if it is a NPY file that an array can express byte for byte, else a flat frame.
/// Directories and symlinks are copied. Skips files that an earlier run has already converted.
/// Returns the exit status.
int create_tree(const CreateOptions& options);

}  // namespace bloscfs::tools
