#pragma once
// Operations of programs on the objects of a directory. Tests run them in a mount and in an
// ordinary directory.

#include <functional>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Objects that the directory of every case has: two files, an empty directory, one that holds
/// `inside`, a link to the file, and a link to itself.
inline constexpr const char *kFile = "f", *kOther = "g", *kEmpty = "d", *kFull = "e",
                            *kLink = "to-f", *kLoop = "loop";

struct PosixCase {
  std::string name;
  /// Returns an errno, or 0.
  std::function<int(const fs_std::path& directory)> act;
  /// Makes further objects in the directory.
  std::function<void(const fs_std::path& directory)> prepare = {};
};

/// Calls that change the attributes or contents of one object.
std::vector<PosixCase> attribute_cases();
/// Calls that make, move and remove names.
std::vector<PosixCase> name_cases();
/// Calls by the user nobody, in directories of several modes that belong to root.
std::vector<PosixCase> stranger_cases();

/// Calls of several users that may clear set-user-ID and set-group-ID bits.
std::vector<PosixCase> privilege_cases();

}  // namespace bloscfs::test
