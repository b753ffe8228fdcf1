#pragma once
// What a mount has left in SOURCE, looked at without a mount.

#include <string>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Checks every container below `source` with `b2frame verify`, and that the containers and plain
/// files there hold the files of `model`, each once, and that nothing else is left behind. Empty,
/// or what is wrong.
std::string problem_in_source(const fs_std::path& source, const fs_std::path& model);

}  // namespace bloscfs::test
