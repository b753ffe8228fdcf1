#pragma once
// Shared values, of which a cache keeps those that were used last.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frame/store/lru_map.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Keeps values whose costs are at most `most` together. What a value takes of the memory budget it
/// holds itself, as long as anybody uses it. Thread-safe: no value is destroyed under the lock.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit LruCache(std::size_t most) : most_(most) {}

  /// Null where it is not kept.
  Pointer find(const Key& key) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const Kept* const known = kept_.find(key);
    return known ? known->value : nullptr;
  }
  /// Takes the place of another value; null: removes that. A value that costs more than `most` is
  /// not kept.
  void put(const Key& key, Pointer value, std::size_t cost = 1) EXCLUDES(mutex_) {
    Gone gone;
    const MutexLock lock(mutex_);
    replace(key, std::move(value), cost, gone);
  }
  /// Keeps what was just made; where somebody else came first, theirs is the result.
  Pointer keep(const Key& key, Pointer made) EXCLUDES(mutex_) {
    Gone gone;
    const MutexLock lock(mutex_);
    if (const Kept* const known = kept_.find(key)) return known->value;
    replace(key, made, 1, gone);
    return made;
  }
  /// Removes the value used longest ago of those that nobody uses; false if there is none.
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
  using Gone = std::vector<std::optional<Kept>>;  ///< destroyed behind the lock

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
