#pragma once
// A cache of shared values that evicts the least recently used ones.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frame/store/lru_map.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Keeps values whose total cost is at most `most`. Each value accounts for its own part of the
/// memory budget, as long as anything refers to it. Thread-safe. Never destroys a value under the
/// lock.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit LruCache(std::size_t most) : most_(most) {}

  /// Returns null if the key is not in the cache.
  Pointer find(const Key& key) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const Kept* const known = kept_.find(key);
    return known ? known->value : nullptr;
  }
  /// Replaces the value of `key`; null removes it. Does not keep a value that costs more than
  /// `most`.
  void put(const Key& key, Pointer value, std::size_t cost = 1) EXCLUDES(mutex_) {
    Gone gone;
    const MutexLock lock(mutex_);
    replace(key, std::move(value), cost, gone);
  }
  /// Keeps a value that the caller has just made, and returns it. If the cache already has a value
  /// for `key`, returns that one instead.
  Pointer keep(const Key& key, Pointer made) EXCLUDES(mutex_) {
    Gone gone;
    const MutexLock lock(mutex_);
    if (const Kept* const known = kept_.find(key)) return known->value;
    replace(key, made, 1, gone);
    return made;
  }
  /// Evicts the least recently used value that only the cache refers to. Returns false if there is
  /// no such value.
  bool drop_unused() EXCLUDES(mutex_) {
    std::optional<Kept> gone;
    const MutexLock lock(mutex_);
    gone = kept_.take_oldest([](const Kept& kept) { return kept.value.use_count() == 1; });
    if (gone) cost_ -= gone->cost;
    return gone.has_value();
  }

 private:
  struct Kept {
    Pointer value;
    std::size_t cost;
  };
  using Gone = std::vector<std::optional<Kept>>;  ///< destroyed after the lock is released

  void replace(const Key& key, Pointer value, std::size_t cost, Gone& gone) REQUIRES(mutex_) {
    gone.push_back(kept_.take(key));
    if (gone.back()) cost_ -= gone.back()->cost;
    if (!value || cost > most_) return;
    for (; cost_ + cost > most_; cost_ -= gone.back()->cost) gone.push_back(kept_.take_oldest());
    static_cast<void>(kept_.put(key, {std::move(value), cost}));
    cost_ += cost;
  }

  const std::size_t most_;
  Mutex mutex_;
  std::size_t cost_ GUARDED_BY(mutex_) = 0;
  frame::LruMap<Key, Kept, Hash> kept_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
