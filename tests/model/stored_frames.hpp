#pragma once
// Checks what a mount has left in SOURCE, without a mount.

#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Checks every container below `source` with `b2frame verify`. Checks that the containers and
/// plain files hold each file of `model` once, and that SOURCE has no other files. Returns the
/// problem, or an empty string.
std::string problem_in_source(const fs_std::path& source, const fs_std::path& model);

}  // namespace bloscfs::test
