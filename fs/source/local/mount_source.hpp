#pragma once
// What is mounted: a directory, or a single container.

#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/names/protected_columns.hpp"

namespace bloscfs::fs {

/// What SOURCE is, how to reach it, and what lies above it, as it was when it was opened: the
/// daemon does not see that later (fs/sandbox/sandbox.hpp).
struct MountSource {
  frame::UniqueFd root;                 ///< the mirrored directory, or the one that holds the frame
  std::optional<std::string> single;    ///< full name of the only entry shown
  std::string directory;                ///< that directory; absolute, without symlinks
  bool is_below_another_mount = false;  ///< which can have files in SOURCE
  ColumnPath columns;                   ///< the way to the directory
  dev_t own_device = 0;                 ///< of the mount that shows it, once there is one
  bool has_quotas = false;              ///< that its filesystem enforces; told to those who write
  std::optional<RescueFolder> rescue = std::nullopt;
};

/// Follows symlinks in `path`. Throws std::system_error, or codec::Error when it is a container
/// that cannot be trusted; std::invalid_argument when it is a file that is no container.
/// `stores`: one of python-blosc2 is shown, too.
MountSource open_source(const std::string& path, bool raw, bool stores);

}  // namespace bloscfs::fs
