#pragma once
// A map with eviction of the least recently used entry.

#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace bloscfs::frame::inline store {

/// Keeps the `most` entries that were used last. Functions return removed values, so that a caller
/// can destroy them after releasing its lock. Not thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruMap {
 public:
  explicit LruMap(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  std::size_t size() const { return entries_.size(); }

  /// Marks the entry as used. Returns null if there is no entry. The pointer is valid until the
  /// entry is removed.
  Value* find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// Like find(), but does not mark the entry as used.
  Value* peek(const Key& key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }

  /// Returns the removed value: the key's previous value, or an evicted one.
  [[nodiscard]] std::optional<Value> put(const Key& key, Value value) {
    if (Value* const known = find(key)) return std::exchange(*known, std::move(value));
    entries_.emplace_front(key, std::move(value));
    by_key_.emplace(key, entries_.begin());
    return entries_.size() > most_ ? take_oldest() : std::nullopt;
  }

  std::optional<Value> take(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    return take(found->second);
  }

  /// Removes the least recently used entry among those whose value satisfies `may_go`.
  template <typename MayGo>
  std::optional<Value> take_oldest(MayGo may_go) {
    for (auto at = entries_.end(); at != entries_.begin();)
      if (--at; may_go(at->second)) return take(at);
    return std::nullopt;
  }
  std::optional<Value> take_oldest() {
    return take_oldest([](const Value&) { return true; });
  }

 private:
  using Entries = std::list<std::pair<Key, Value>>;

  std::optional<Value> take(typename Entries::iterator entry) {
    std::optional<Value> value(std::move(entry->second));
    by_key_.erase(entry->first);
    entries_.erase(entry);
    return value;
  }

  const std::size_t most_;
  Entries entries_;  ///< most recently used first
  std::unordered_map<Key, typename Entries::iterator, Hash> by_key_;
};

}  // namespace bloscfs::frame::inline store
