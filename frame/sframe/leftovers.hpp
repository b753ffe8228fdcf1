#pragma once
// What hosts have left in an object store that ended before they could tidy up.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline sframe {

/// What was removed, or is to be.
struct Leftovers {
  std::uint64_t chunks = 0, chunk_bytes = 0;  ///< that no index names
  std::uint64_t tombstones = 0;               ///< of frames that were removed
  std::uint64_t probes = 0;
  std::vector<std::string> paths;    ///< of all of them, in a dry run
  std::vector<std::string> damaged;  ///< frames whose indexes cannot be read: nothing of them goes
};

/// Removes what nobody needs, all below `tree`'s root, of what has been there for at least `age` by
/// the store's own clock; in a dry run it tells of that alone. Chunks go that no index names and
/// that bloscfs has put: those with its mark, and those in the folder of an index with a commit.
/// With an age below ObjectFrames::kSafeAge nobody may be writing: chunks that are about to be
/// named would go. Errors: those of ObjectTree.
Leftovers remove_leftovers(const std::shared_ptr<ObjectTree>& tree, std::chrono::seconds age,
                           bool is_dry = false);

}  // namespace bloscfs::frame::inline sframe
