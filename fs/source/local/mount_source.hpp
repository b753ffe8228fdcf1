#pragma once
// Opens what is mounted: a directory, or a single container or store.

#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/names/protected_columns.hpp"

namespace bloscfs::fs {

/// What SOURCE is, how to reach it, and what lies above it. All of it is found out at the start,
/// since the sandboxed daemon cannot look above SOURCE later (fs/sandbox/sandbox.hpp).
struct MountSource {
  frame::UniqueFd root;                 ///< the mirrored directory, or the one that holds the frame
  std::optional<std::string> single;    ///< full name of the only entry shown
  std::string directory;                ///< path of `root`; absolute, without symlinks
  bool is_below_another_mount = false;  ///< a mount of a directory above can have files in SOURCE
  ColumnPath columns;                   ///< the path to `root`, for columns of a table above it
  dev_t own_device = 0;                 ///< the device of this mount itself, once it exists
  /// The filesystem of SOURCE enforces quotas; set only for writable mounts.
  bool has_quotas = false;
  std::optional<RescueFolder> rescue = std::nullopt;
  std::string rescue_obstacle = {};  ///< why a writable mount has no rescue folder
  bool is_archive = false;           ///< a single store in a ZIP archive, which no mount changes
};

/// Opens a directory or a container, following symlinks in `path`. With `stores`, also a store of
/// python-blosc2. Throws std::system_error, codec::Error for a damaged container, and
/// std::invalid_argument for a file that is none of these.
MountSource open_source(const std::string& path, bool raw, bool stores);

}  // namespace bloscfs::fs
