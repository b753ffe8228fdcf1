#pragma once
// Reads and sets extended attributes of a path. Symbolic links are not followed.

#include <optional>
#include <set>
#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Returns the value, or nullopt for ENODATA. Throws std::system_error for every other errno.
std::optional<std::string> get_xattr(const fs_std::path& path, const std::string& name);
std::set<std::string> list_xattrs(const fs_std::path& path);
/// Returns the errno, or 0 for success.
int errno_of_get_xattr(const fs_std::path& path, const std::string& name);
int errno_of_set_xattr(const fs_std::path& path, const std::string& name, const std::string& value);

}  // namespace bloscfs::test
