#pragma once
// A mount namespace of the daemon's own that contains only the files that the daemon needs.

#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::fs {

/// Returns the directory in a detached copy of its mount: ".." does not lead out of it. Devices and
/// set-user-ID bits have no effect in the copy, and unless `writes`, it is read-only. If `others`
/// are entered, the copy includes the mounts below the directory. If the directory's own mount is
/// shared, the copy follows later mounts and unmounts there. Throws std::system_error: EPERM
/// without the right to mount.
frame::UniqueFd detached_copy(const frame::UniqueFd& directory, OtherMounts others, bool writes);

/// Gives the process, which must have one thread, a new root directory, and makes that the working
/// directory. It contains only `copy` and a read-only /proc that shows only processes. `left_out`
/// are paths in the copy that other mounts cover outside. They are covered by empty files and
/// directories, because the copy would show what the mounts hide. Throws std::system_error; the
/// process then keeps its root directory.
void enter_private_namespace(const frame::UniqueFd& copy, const std::vector<std::string>& left_out);

/// Gives the process a root directory without SOURCE. It contains the paths `read`, read-only, and
/// `written`, under their own names. Paths are absolute; missing ones are ignored. All else is as
/// with the function above.
void enter_private_namespace(const std::vector<std::string>& read,
                             const std::vector<std::string>& written);

}  // namespace bloscfs::fs
