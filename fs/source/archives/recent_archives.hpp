#pragma once
// Archives that stay open though nobody uses them, and the memory that open ones take.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/source/archives/archive.hpp"
#include "fs/support/lru_cache.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// The last four, by whatever tells them apart; others live as long as their nodes. One with
/// 100,000 members takes 15 MB. Thread-safe.
template <typename Key, typename Hash = std::hash<Key>>
class RecentArchives : public LruCache<Key, Archive, Hash> {
 public:
  using typename LruCache<Key, Archive, Hash>::Pointer;

  /// `budget` outlives it.
  explicit RecentArchives(MemoryBudget& budget)
      : LruCache<Key, Archive, Hash>(4), budget_(budget) {}

  /// For an archive that is opened or listed, and that messages call `name`; kept ones that nobody
  /// uses give way. Does not outlive this object.
  std::shared_ptr<MemoryBudget::Listing> charge_for(const std::string& name) {
    return std::make_shared<MemoryBudget::Listing>(budget_, name,
                                                   [this] { return this->drop_unused(); });
  }

 private:
  MemoryBudget& budget_;
};

}  // namespace bloscfs::fs
