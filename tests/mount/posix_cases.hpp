#pragma once
// What programs do to the objects of a directory, to be done in a mount and in an ordinary one.

#include <functional>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// What every case finds in its directory: two files, an empty directory, one that holds `inside`,
/// a link to the file and one to itself.
inline constexpr const char *kFile = "f", *kOther = "g", *kEmpty = "d", *kFull = "e",
                            *kLink = "to-f", *kLoop = "loop";

struct PosixCase {
  std::string name;
  /// Returns an errno, or 0.
  std::function<int(const fs_std::path& directory)> act;
  /// Beside what every case finds.
  std::function<void(const fs_std::path& directory)> prepare = {};
};

/// Calls that change attributes or contents of one object.
std::vector<PosixCase> attribute_cases();
/// Calls that make, move and remove names.
std::vector<PosixCase> name_cases();
/// Calls of somebody else than root, to whom the directory belongs.
std::vector<PosixCase> stranger_cases();

/// Calls that may clear set-user-ID and set-group-ID bits, by several users.
std::vector<PosixCase> privilege_cases();

}  // namespace bloscfs::test
