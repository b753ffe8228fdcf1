#pragma once
// Makes frames of the members of a .npz file.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// True for a .npz file whose members go to a folder (OUT/) or to a store (.b2d, .b2z).
bool is_archive(const CreateOptions& options);

/// Makes the folder or the store, with an array for each member that is a NPY file and a flat frame
/// for each other. Throws Error for archives that cannot be trusted; then nothing is made.
void create_archive(const CreateOptions& options);

}  // namespace bloscfs::tools
