#pragma once
// What stays open, or known, though nobody uses it, and the memory that it takes.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "frame/store/lru_map.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Keeps the `most` that were used last, by whatever tells them apart. Thread-safe.
template <typename Key, typename Kept, std::size_t most>
class RecentlyUsed {
 public:
  using Pointer = std::shared_ptr<const Kept>;

  /// `budget` outlives it.
  explicit RecentlyUsed(MemoryBudget& budget) : budget_(budget) {}

  /// For what is opened or listed, and messages call `name`, if they are to tell of it; kept ones
  /// that nobody uses give way. Does not outlive this object.
  std::shared_ptr<MemoryBudget::Listing> charge_for(const std::string& name) {
    return std::make_shared<MemoryBudget::Listing>(budget_, name, [this] {
      std::optional<Pointer> dropped;  // destroyed behind the lock
      const MutexLock lock(mutex_);
      dropped = kept_.take_oldest([](const auto& kept) { return kept.use_count() == 1; });
      return dropped.has_value();
    });
  }

  /// Null where it is not kept.
  Pointer find(const Key& key) {
    const MutexLock lock(mutex_);
    const Pointer* const known = kept_.find(key);
    return known ? *known : nullptr;
  }
  /// Keeps what was just opened; where somebody else came first, theirs is the result.
  Pointer keep(const Key& key, Pointer opened) {
    std::optional<Pointer> dropped;  // destroyed behind the lock
    const MutexLock lock(mutex_);
    if (const auto* const known = kept_.find(key)) {
      dropped = std::move(opened);
      return *known;
    }
    dropped = kept_.put(key, opened);
    return opened;
  }
  /// In place of another state; null: of none.
  void replace(const Key& key, Pointer opened) {
    std::optional<Pointer> dropped;  // destroyed behind the lock
    const MutexLock lock(mutex_);
    dropped = opened ? kept_.put(key, std::move(opened)) : kept_.take(key);
  }

 private:
  MemoryBudget& budget_;
  Mutex mutex_;
  frame::LruMap<Key, Pointer> kept_ GUARDED_BY(mutex_){most};
};

}  // namespace bloscfs::fs
