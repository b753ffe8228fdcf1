#pragma once
// A mount namespace of the daemon's own that contains only the files that the daemon needs.

#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::fs {

/// The same directory in a copy of its mount that is mounted nowhere yet: from what is opened below
/// it, no ".." leads further than to it. Devices and set-user-ID bits have no effect there, and
/// unless the daemon `writes`, nothing can be changed. The
/// copy has the mounts below it if they are entered, and follows what is mounted and unmounted
/// there later where the directory's own mount is shared. Throws std::system_error: EPERM without
/// the right to mount.
frame::UniqueFd detached_copy(const frame::UniqueFd& directory, OtherMounts others, bool writes);

/// Leaves the process, which has one thread, a root directory in which there are such a copy and a
/// read-only /proc of processes alone, and makes it the working directory. Something empty covers
/// each of `left_out`, paths in the copy, which else would show what another mount covers. Throws
/// std::system_error; the process then sees what it saw before.
void enter_private_namespace(const frame::UniqueFd& copy, const std::vector<std::string>& left_out);

/// The same without SOURCE: what is at the paths `read`, to be read alone, and `written`, under
/// their own names. Paths are absolute; what is not there is left out.
void enter_private_namespace(const std::vector<std::string>& read,
                             const std::vector<std::string>& written);

}  // namespace bloscfs::fs
