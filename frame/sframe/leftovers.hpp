#pragma once
// Removes what hosts left in an object store when they ended without cleaning up.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline sframe {

/// The objects that were deleted, or would be deleted in a dry run.
struct Leftovers {
  std::uint64_t chunks = 0, chunk_bytes = 0;  ///< chunks that no index names
  std::uint64_t tombstones = 0;               ///< of frames that were removed
  std::uint64_t probes = 0;
  std::vector<std::string> paths;    ///< of all objects, in a dry run
  std::vector<std::string> damaged;  ///< frames with an unreadable index, which are left alone
};

/// Deletes the leftovers below the root of `tree` that are at least `age` old by the store's clock.
/// A dry run only lists them. Deletes chunks without an index entry if they have bloscfs's mark, or
/// if the index in their folder has a commit id. With an age below ObjectFrames::kSafeAge no host
/// may be writing, because this would delete chunks that an index is about to name. Errors: as
/// ObjectTree.
Leftovers remove_leftovers(const std::shared_ptr<ObjectTree>& tree, std::chrono::seconds age,
                           bool is_dry = false);

}  // namespace bloscfs::frame::inline sframe
