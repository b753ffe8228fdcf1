#pragma once
// Mounts a filesystem and serves the kernel until it is unmounted.

#include <string>

#include "fs/options/options.hpp"

namespace bloscfs::fs {

struct SessionSettings {
  std::string source;
  std::string mountpoint;
  bool foreground = false;
  bool debug = false;  ///< libfuse's debugging output; implies foreground
  MountOptions options;
};

/// Returns when the mount has ended. Goes into the background once the mount works, unless told
/// otherwise. Throws whatever keeps the mount from working, with a message for the user that does
/// not name SOURCE: FileError where something else is at fault, like the mountpoint.
void run_session(SessionSettings settings);

}  // namespace bloscfs::fs
