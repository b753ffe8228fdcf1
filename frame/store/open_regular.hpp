#pragma once
// Opens for ourselves: without an access by a user, and regular files where those are meant
// (opening a fifo lets its writers go, a device may do anything).

#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline store {

/// A path that leads to what a descriptor stands for, whatever has become of its name.
std::string descriptor_path(int fd);

/// open(2) with O_CLOEXEC and, where that is permitted, without changing the time of access: what
/// we read for ourselves is no access by a user. -1 with errno set where it fails.
int open_quietly(const std::string& path, int flags);

/// Opens the file that `place`, an O_PATH descriptor, stands for; empty unless it is a regular one.
/// `flags` are O_RDONLY or O_RDWR. Throws std::system_error.
UniqueFd open_if_regular(const UniqueFd& place, int flags);

/// The same for a name in an open directory (or AT_FDCWD). Symlinks are not followed; what is not
/// there is no regular file either.
UniqueFd open_regular_at(int directory, const std::string& name, int flags);

}  // namespace bloscfs::frame::inline store
