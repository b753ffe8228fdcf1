#pragma once
// Compares what two directories hold.

#include <set>
#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

std::set<std::string> names_in(const fs_std::path& directory);
std::string join(const std::set<std::string>& names);
/// Where two contents differ first, in words.
std::string first_difference(const ByteVector& model, const ByteVector& other);
/// How contents, symlink's text, or extended attributes (without those that a mount makes) of two
/// objects of one type differ; empty when they are alike.
std::string difference_of(const fs_std::path& model, const fs_std::path& other);

}  // namespace bloscfs::test
