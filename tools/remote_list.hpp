#pragma once
// The names that a mount of a URL would show.

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Prints them, directories gone through. Each object is looked at, by one request; stores of
/// python-blosc2 count as the files and directories that they are, sparse frames as their suffix
/// promises. Returns the exit status. Throws as RemoteFiles::tree().
int list_remote(const ListOptions& options);

}  // namespace bloscfs::tools
