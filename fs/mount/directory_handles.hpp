#pragma once
// The directories that the kernel has open, and what each of them was found to hold.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fs/mount/directory_listings.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/handle_table.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors are those of what lists and DirectoryListings::make(), EBADF for a number
/// that is not in use; NoTurn where a directory is large, or its files have to be read.
class DirectoryHandles {
 public:
  /// What a directory holds, as Tree::list() tells.
  using List =
      std::function<std::vector<DirectoryEntry>(NodeId node, const std::function<void()>& if_many)>;
  /// `budget` outlives this object; listings are within it.
  DirectoryHandles(MemoryBudget& budget, List list) : list_(std::move(list)), listings_(budget) {}

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

  const List list_;
  DirectoryListings listings_;
  HandleTable<Handle> handles_;
};

}  // namespace bloscfs::fs
