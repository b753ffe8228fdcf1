#pragma once
// Which chunks a place in the object store of the tests has, and needs.

#include <set>
#include <string>

#include "tests/remote/object_mount.hpp"

namespace bloscfs::test {

/// Chunks of a place that are there and those that indexes name.
struct Chunks {
  std::set<std::string> present, named;
};
Chunks chunks_of(const StorePlace& place);

/// b2frame gc of a place.
ProcessResult collect(const StorePlace& place, const Arguments& options = {});

}  // namespace bloscfs::test
