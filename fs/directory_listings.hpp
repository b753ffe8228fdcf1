#pragma once
// What open directories hold, as long as somebody reads them. Their memory is part of the one
// budget, and each user may have a share of what there is for all listings.

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/block_cache.hpp"
#include "fs/fair_share.hpp"
#include "fs/sync.hpp"
#include "fs/tree.hpp"

namespace bloscfs::fs {

struct DirectoryListing {
  std::vector<Tree::DirectoryEntry> entries;
};

/// Thread-safe.
class DirectoryListings {
 public:
  /// All of them may take half of the budget and 16 MiB, and the only one of a user what it
  /// needs. `budget` outlives them.
  explicit DirectoryListings(BlockCache& budget)
      : budget_(budget), share_(budget.capacity() / 2 + (std::size_t{16} << 20)) {}

  /// Keeps what a directory was found to hold; if somebody keeps the same of it already, that.
  /// Throws std::system_error(ENOMEM) where the user whose request this is would have too much.
  std::shared_ptr<const DirectoryListing> keep(NodeId node,
                                               std::vector<Tree::DirectoryEntry> entries)
      EXCLUDES(mutex_);

 private:
  struct Kept;
  void forget_unused() REQUIRES(mutex_);

  BlockCache& budget_;
  FairShare share_;
  Mutex mutex_;
  /// The last one of each directory.
  std::unordered_map<NodeId, std::weak_ptr<const DirectoryListing>> last_ GUARDED_BY(mutex_);
  std::size_t to_look_through_ GUARDED_BY(mutex_) = 0;
};

}  // namespace bloscfs::fs
