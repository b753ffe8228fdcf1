#pragma once
// A cache of open archives, listings or objects. Their memory is charged to the budget.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "fs/support/lru_cache.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Keeps the `most` values that were used last. Thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class RecentlyUsed : public LruCache<Key, Value, Hash> {
 public:
  /// `budget` outlives this object.
  RecentlyUsed(MemoryBudget& budget, std::size_t most)
      : LruCache<Key, Value, Hash>(most), budget_(budget) {}

  /// Returns a charge for a value that the request makes; messages call the value `name`. If the
  /// budget has no room, drops cached values that are not in use. The charge must not outlive this
  /// object.
  std::shared_ptr<MemoryBudget::Listing> charge_for(Request& request, const std::string& name) {
    return std::make_shared<MemoryBudget::Listing>(request, budget_, name,
                                                   [this] { return this->drop_unused(); });
  }

 private:
  MemoryBudget& budget_;
};

}  // namespace bloscfs::fs
