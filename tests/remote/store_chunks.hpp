#pragma once
// Finds which chunks a place in the tests' object store has, and which it needs.

#include <set>
#include <string>

#include "tests/remote/object_mount.hpp"

namespace bloscfs::test {

/// Paths of the chunks that a place has, and of those that its indexes name.
struct Chunks {
  std::set<std::string> present, named;
};
Chunks chunks_of(const StorePlace& place);

/// Runs `b2frame gc` on a place.
ProcessResult collect(const StorePlace& place, const Arguments& options = {});

}  // namespace bloscfs::test
