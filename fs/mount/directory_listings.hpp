#pragma once
// What open directories hold, as long as somebody reads them. Their memory is part of the one
// budget, and each user may have a share of what there is for all listings. Making one takes long,
// and several times that memory: a user makes one large listing at a time, in a turn, and who has
// waited for that takes what somebody else has listed meanwhile.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/source/local/tree/tree.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

struct DirectoryListing {
  std::vector<DirectoryEntry> entries;
};

/// Thread-safe.
class DirectoryListings {
 public:
  /// All of them may take half of the budget and 16 MiB, and the only one of a user what it
  /// needs. `budget` outlives them.
  explicit DirectoryListings(MemoryBudget& budget)
      : budget_(budget), share_(budget.capacity() / 2 + (std::size_t{16} << 20)) {}

  /// How many listings have begun: what begins later shows what was there when this was called.
  std::uint64_t begun() const { return begun_; }

  /// `if_many` as for Tree::list().
  using List = std::function<std::vector<DirectoryEntry>(const std::function<void()>& if_many)>;
  /// What a directory holds now, or has held since `begun` was asked for. If somebody keeps the
  /// same of it already, that. Throws std::system_error(ENOMEM) where the user whose request this
  /// is would have too much; NoTurn.
  std::shared_ptr<const DirectoryListing> make(NodeId node, std::uint64_t begun, const List& list)
      EXCLUDES(mutex_);

 private:
  struct Kept;
  struct Last {
    std::weak_ptr<const DirectoryListing> listing;
    std::uint64_t number = 0;
  };
  std::shared_ptr<const DirectoryListing> keep(NodeId node, std::uint64_t number,
                                               std::vector<DirectoryEntry> entries)
      EXCLUDES(mutex_);
  Last last(NodeId node) EXCLUDES(mutex_);
  void forget_unused() REQUIRES(mutex_);

  MemoryBudget& budget_;
  FairShare share_;
  Mutex mutex_;
  std::atomic<std::uint64_t> begun_{0};
  KeyedMutex large_;  ///< by user
  /// The last one of each directory.
  std::unordered_map<NodeId, Last> last_ GUARDED_BY(mutex_);
  std::size_t to_look_through_ GUARDED_BY(mutex_) = 0;
};

}  // namespace bloscfs::fs
