#pragma once
// What hosts have left in an object store that ended before they could tidy up.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline sframe {

/// The objects that were deleted, or would be.
struct Leftovers {
  std::uint64_t chunks = 0, chunk_bytes = 0;  ///< that no index names
  std::uint64_t tombstones = 0;               ///< of frames that were removed
  std::uint64_t probes = 0;
  std::vector<std::string> paths;    ///< of all objects, in a dry run
  std::vector<std::string> damaged;  ///< frames with an unreadable index, which are left alone
};

/// Deletes the leftovers below the root of `tree` that are at least `age` old by the store's clock;
/// a dry run only lists them. Of chunks without an index entry it deletes those with bloscfs's
/// mark, and those in the folder of an index with a commit id. With an age below
/// ObjectFrames::kSafeAge no host may be writing, because chunks that an index is about to name
/// would be deleted. Errors: as ObjectTree.
Leftovers remove_leftovers(const std::shared_ptr<ObjectTree>& tree, std::chrono::seconds age,
                           bool is_dry = false);

}  // namespace bloscfs::frame::inline sframe
