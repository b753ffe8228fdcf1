#pragma once
// Opens files for the program's own use: without changing the access time, and only regular files
// where those are meant. Opening a FIFO unblocks its writers, and opening a device may do anything.

#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline store {

/// Returns a path that leads to the descriptor's file, even if the file has been renamed or
/// removed.
std::string descriptor_path(int fd);

/// Calls open(2) with O_CLOEXEC, and with O_NOATIME where that is permitted: the program's own
/// reads are not accesses by a user. Returns -1 and sets errno on failure.
int open_noatime(const std::string& path, int flags);

/// Opens the file of `place`, an O_PATH descriptor. Returns an empty descriptor if it is not a
/// regular file. `flags` are O_RDONLY or O_RDWR. Throws std::system_error.
UniqueFd open_if_regular(const UniqueFd& place, int flags);

/// Like open_if_regular(), for a name in an open directory (or AT_FDCWD). Does not follow symlinks.
/// Returns an empty descriptor also if the name does not exist.
UniqueFd open_regular_at(int directory, const std::string& name, int flags);

}  // namespace bloscfs::frame::inline store
