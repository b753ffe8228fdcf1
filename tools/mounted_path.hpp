#pragma once
// Finds out whether a path leads into a mount of bloscfs, whose files are no frames, or into the
// SOURCE of one.

#include <optional>
#include <string>

namespace bloscfs::tools {

/// Returns the path or URL in SOURCE of what a mount shows as `path`. That is the frame or the
/// store itself, or SOURCE if it cannot be found. Returns nullopt for a path outside of such
/// mounts, and for a file or directory that SOURCE has under the shown name.
std::optional<std::string> stored_behind(const std::string& path);

/// Returns the path or URL in SOURCE for a file that is to be made at `path`; nullopt outside of
/// such mounts.
std::optional<std::string> place_in_source(const std::string& path);

/// Throws std::runtime_error for what stored_behind() finds. The message names the frame.
void refuse_shown(const std::string& path);

/// Has the mounts whose SOURCE is or contains `path` commit what was written to them. Otherwise a
/// change of the frame would conflict with what waits there, which then goes into another file.
/// Ignores errors, since the change can be made nevertheless. But throws FileError if a daemon does
/// not answer. To be called while there are no other threads.
void commit_mounts_of(const std::string& path);

}  // namespace bloscfs::tools
