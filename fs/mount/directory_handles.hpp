#pragma once
// Open directories and their listings. The memory of listings counts to cache_size, and each user
// has a share of it. Making a large listing takes long, and needs several times the memory of the
// result. Each user therefore makes only one large listing at a time, with a slot. A request that
// waited for another request of the user uses the listing that the other request made.

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

/// Thread-safe. Throws what Source::list() throws, and:
/// - EBADF for an unknown handle number
/// - ENOMEM if the listings of the request's user would exceed the user's share
/// - NoSlot if a directory is large, or if its files must be read
class DirectoryHandles {
 public:
  /// All listings together may take half of the budget plus 16 MiB. A user's only listing may
  /// exceed the user's share. `source` and `budget` outlive this object.
  DirectoryHandles(Source& source, MemoryBudget& budget)
      : source_(source), budget_(budget), share_(budget.capacity() / 2 + (std::size_t{16} << 20)) {}

  /// Returns the number of listings begun so far. A request calls this when it arrives, and passes
  /// the result as `begun`. It then gets a listing that began after that call.
  std::uint64_t listings_begun() const { return begun_; }
  /// Opens and lists a directory. For the root, the first entries() call makes the listing.
  std::uint64_t open(Request& request, NodeId node, std::uint64_t begun);
  /// Returns the listing of an open directory. Reads the directory again if `from_start`, except
  /// for the first call.
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
    std::uint64_t number = 0;  ///< it was the number-th listing begun; see listings_begun()
  };

  /// Returns a listing that began after `begun`. If a reader still keeps an equal listing, returns
  /// that one.
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
  /// The last listing of each directory, as long as a reader keeps it.
  std::unordered_map<NodeId, Last> last_ GUARDED_BY(mutex_);
  /// Size of last_ from which on entries without a listing are removed.
  std::size_t cleanup_size_ GUARDED_BY(mutex_) = 0;
};

}  // namespace bloscfs::fs
