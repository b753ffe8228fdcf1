#pragma once
// Extended attributes of a path, symlinks not followed.

#include <optional>
#include <set>
#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Value, or none with ENODATA. Throws std::system_error for every other errno.
std::optional<std::string> get_xattr(const fs_std::path& path, const std::string& name);
std::set<std::string> list_xattrs(const fs_std::path& path);
/// 0, or the errno.
int errno_of_get_xattr(const fs_std::path& path, const std::string& name);
int errno_of_set_xattr(const fs_std::path& path, const std::string& name, const std::string& value);

}  // namespace bloscfs::test
