#pragma once
// Checks a directory of reference files against the manifest that describes them.

#include <string>

namespace bloscfs::frame::test {

/// Checks every cframe and sframe of `directory`/manifest.json with Boost.Test. Returns how many
/// there are.
int check_corpus(const std::string& directory);

}  // namespace bloscfs::frame::test
