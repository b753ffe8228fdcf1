#pragma once
// Landlock: limits which files the process can open, make and remove, whatever its other rights.

#include <string>
#include <vector>

namespace bloscfs::fs {

/// Restricts the process, which must have one thread and no new privileges, to SOURCE and the
/// rescue folder. Both are open directories, for which O_PATH is enough; `rescue` is -1 if there is
/// none.
/// - Files in SOURCE and in `rescue` can be read, and written if `writes`.
/// - No file there can be executed, and no device controlled.
/// - Of other processes, it can read what /proc shows to all users. It can neither signal nor trace
///   them.
/// - If the kernel supports it: no TCP and no abstract sockets.
///
/// Files that are already open stay usable. Throws std::system_error; EOPNOTSUPP if the kernel's
/// Landlock is older than ABI 2, with which no file could be renamed into another directory.
void restrict_to_source(int source, bool writes, int rescue);

/// Restricts the process for a SOURCE that is a URL. The files and folders `read` can be read, the
/// folders `written` also written. Missing ones are ignored. The process can connect to TCP ports,
/// but not listen. All other limits are those of restrict_to_source().
void restrict_to_network(const std::vector<std::string>& read,
                         const std::vector<std::string>& written);

}  // namespace bloscfs::fs
