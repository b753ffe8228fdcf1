#pragma once
// Creates frames from the members of a .npz file.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// True for a .npz file whose members become a folder (OUT/) or a store (.b2d, .b2z).
bool is_archive(const CreateOptions& options);

/// Makes the folder or the store. Each NPY file becomes an array, each other member a flat frame.
/// Makes nothing if it throws, as it does for archives that cannot be trusted.
void create_archive(const CreateOptions& options);

}  // namespace bloscfs::tools
