#pragma once
// Landlock: which files the process can open, make and remove, whatever rights it has otherwise.

#include <string>
#include <vector>

namespace bloscfs::fs {

/// Leaves the process, which has one thread, SOURCE, an open directory (O_PATH is enough), with all
/// that is below it, to read from or also to write to, and the open directory `rescue` to write to,
/// if it is not -1; nothing there can be executed, and no device be controlled. Of processes it can
/// read what /proc shows to everybody, and it can send signals to none but itself, nor trace any.
/// Where the kernel knows of these: no TCP, no abstract sockets. Files that are open stay usable.
/// The process must have no new privileges. Throws std::system_error: EOPNOTSUPP where the kernel's
/// Landlock is older than ABI 2, under which nothing could be renamed into another directory.
void restrict_to_source(int source, bool writes, int rescue);

/// The same for what a mount of a remote SOURCE needs: these files and folders to be read, these
/// folders also to be written; what is not there is left out. Connections may be made, and none
/// accepted.
void restrict_to_network(const std::vector<std::string>& read,
                         const std::vector<std::string>& written);

}  // namespace bloscfs::fs
