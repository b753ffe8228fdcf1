#pragma once
// What stays open, or known, though nobody uses it, and the memory that it takes.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "fs/support/lru_cache.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Keeps those that were used last, by whatever tells them apart. Thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class RecentlyUsed : public LruCache<Key, Value, Hash> {
 public:
  /// `budget` outlives it.
  RecentlyUsed(MemoryBudget& budget, std::size_t most)
      : LruCache<Key, Value, Hash>(most), budget_(budget) {}

  /// For what is opened or listed, and messages call `name`, if they are to tell of it; kept ones
  /// that nobody uses give way. Does not outlive this object.
  std::shared_ptr<MemoryBudget::Listing> charge_for(const std::string& name) {
    return std::make_shared<MemoryBudget::Listing>(budget_, name,
                                                   [this] { return this->drop_unused(); });
  }

 private:
  MemoryBudget& budget_;
};

}  // namespace bloscfs::fs
