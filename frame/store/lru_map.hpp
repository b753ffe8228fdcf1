#pragma once
// A map that knows in which order its entries were used last.

#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace bloscfs::frame::inline store {

/// Holds `most` entries, those that were used last. Values that leave are returned, so that who
/// holds a lock can destroy them when he has given it back. Not thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruMap {
 public:
  explicit LruMap(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  std::size_t size() const { return entries_.size(); }

  /// Null where there is none. Good until the entry leaves. The entry counts as used.
  Value* find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// The same, and the entry does not count as used.
  Value* peek(const Key& key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }

  /// Returns what left: the former value of the key, or the entry that is one too many.
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

  /// Of the entries whose values may go the one that was not used for longest.
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
  Entries entries_;  ///< the one used last in front
  std::unordered_map<Key, typename Entries::iterator, Hash> by_key_;
};

}  // namespace bloscfs::frame::inline store
