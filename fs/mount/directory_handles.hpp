#pragma once
// Open directories and their listings. The memory of listings is part of cache_size, and each user
// has a share of it. To make a large listing takes long, and several times its memory: so each user
// makes one at a time, with a slot. A request that waited for that uses the listing that was made.

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/source/source.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

struct DirectoryListing {
  std::vector<DirectoryEntry> entries;
};

/// Thread-safe. Errors are those of Source::list(); EBADF for a number that is not in use; ENOMEM
/// where the user whose request this is would have too much; NoSlot where a directory is large, or
/// its files have to be read.
class DirectoryHandles {
 public:
  /// All listings may take half of the budget and 16 MiB, and the only one of a user what it needs.
  /// Both outlive this object.
  DirectoryHandles(Source& source, MemoryBudget& budget)
      : source_(source), budget_(budget), share_(budget.capacity() / 2 + (std::size_t{16} << 20)) {}

  /// How many listings have begun, for the `begun` of what lists directories: a directory is shown
  /// as it is when this was called, or later.
  std::uint64_t listings_begun() const { return begun_; }
  /// Opens the root even if it cannot be listed; then the first entries() call throws.
  std::uint64_t open(Request& request, NodeId node, std::uint64_t begun);
  /// What the directory holds since it was last read from its start.
  std::shared_ptr<const DirectoryListing> entries(Request& request, std::uint64_t number,
                                                  bool from_start, std::uint64_t begun);
  void release(Request& request, std::uint64_t number);

 private:
  using Listing = std::shared_ptr<const DirectoryListing>;
  struct Kept;
  struct Handle {
    NodeId node = 0;
    Mutex mutex{LockLevel::request};
    bool was_read GUARDED_BY(mutex) = false;
    Listing listing GUARDED_BY(mutex);
  };
  struct Last {
    std::weak_ptr<const DirectoryListing> listing;
    std::uint64_t number = 0;
  };

  /// What a directory holds now, or has held since `begun` was asked for. If somebody keeps the
  /// same of it already, that.
  Listing list(Request& request, NodeId directory, std::uint64_t begun);
  Listing list_root(Request& request, std::uint64_t begun);
  Listing keep(uid_t user, NodeId directory, std::uint64_t number,
               std::vector<DirectoryEntry> entries) EXCLUDES(mutex_);
  Last last(NodeId directory) EXCLUDES(mutex_);

  Source& source_;
  MemoryBudget& budget_;
  FairShare share_;
  HandleTable<Handle> handles_;
  std::atomic<std::uint64_t> begun_{0};
  KeyedMutex large_{LockLevel::batch};  ///< by user
  Mutex mutex_;
  /// The last listing of each directory, as long as somebody reads it.
  std::unordered_map<NodeId, Last> last_ GUARDED_BY(mutex_);
  std::size_t to_look_through_ GUARDED_BY(mutex_) = 0;
};

}  // namespace bloscfs::fs
