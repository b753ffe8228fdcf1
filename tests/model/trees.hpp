#pragma once
// Compares two directories.

#include <set>
#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

std::set<std::string> names_in(const fs_std::path& directory);
std::string join(const std::set<std::string>& names);
/// Describes the first difference of two contents.
std::string first_difference(const ByteVector& model, const ByteVector& other);
/// Describes a difference of two objects of the same type: in their contents, symlink target, or
/// extended attributes (without those that a mount makes). Returns an empty string if they are
/// equal.
std::string difference_of(const fs_std::path& model, const fs_std::path& other);

}  // namespace bloscfs::test
