#pragma once
// The directories that the kernel has open, and what each of them was found to hold.

#include <cstdint>
#include <memory>

#include "fs/mount/directory_listings.hpp"
#include "fs/stores/stores.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors are those of Tree::list() and DirectoryListings::make(), EBADF for a number
/// that is not in use; NoTurn where a directory is large, or its files have to be read.
class DirectoryHandles {
 public:
  /// All outlive this object; listings are within the `budget`.
  DirectoryHandles(Tree& tree, Stores& stores, MemoryBudget& budget)
      : tree_(tree), stores_(stores), listings_(budget) {}

  /// For the `begun` of what lists directories: a directory is shown as it is then, or later.
  std::uint64_t listings_begun() const { return listings_.begun(); }
  std::uint64_t open(NodeId node, std::uint64_t begun);
  /// What the directory holds since it was last read from its start.
  std::shared_ptr<const DirectoryListing> entries(std::uint64_t number, bool from_start,
                                                  std::uint64_t begun);
  void release(std::uint64_t number);

 private:
  struct Handle {
    NodeId node = 0;
    Mutex mutex;
    bool was_read GUARDED_BY(mutex) = false;
    std::shared_ptr<const DirectoryListing> listing GUARDED_BY(mutex);
  };

  std::shared_ptr<const DirectoryListing> list(NodeId directory, std::uint64_t begun);

  Tree& tree_;
  Stores& stores_;
  DirectoryListings listings_;
  HandleTable<Handle> handles_;
};

}  // namespace bloscfs::fs
