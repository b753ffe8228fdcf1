#pragma once
// A cache without values. It shows which values EvictionPolicy would keep after a trace of reads.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "fs/view/eviction_policy.hpp"

namespace bloscfs::test {

class SimulatedCache {
 public:
  /// `capacity` is in bytes.
  SimulatedCache(std::size_t capacity, const fs::EvictionRules& rules)
      : capacity_(capacity), uses_(rules), policy_(rules, uses_) {}
  explicit SimulatedCache(std::size_t capacity)
      : SimulatedCache(capacity, fs::EvictionRules(capacity)) {}
  ~SimulatedCache() {
    for (auto& [key, item] : items_) policy_.remove(item);
  }
  SimulatedCache(const SimulatedCache&) = delete;
  SimulatedCache& operator=(const SimulatedCache&) = delete;

  bool has(std::size_t key) const { return items_.count(key) != 0; }
  /// Reads a value of `size` bytes. Returns false on a miss.
  bool read(std::size_t key, std::size_t size, fs::Purpose purpose = fs::Purpose::read) {
    if (const auto there = items_.find(key); there != items_.end()) {
      uses_.use(there->second, purpose);
      return true;
    }
    misses_++;
    fs::EvictionItem& item = items_[key];
    item.hash = key;
    item.size = size;
    item.unread = purpose == fs::Purpose::readahead;
    policy_.add(item, purpose);
    held_ += size;
    shorten(fs::EvictionQueue::small_reads);
    while (held_ > capacity_ && drop_one()) {
    }
    most_held_ = held_ > most_held_ ? held_ : most_held_;
    return false;
  }
  void give_to_kernel(std::size_t key) {
    if (const auto there = items_.find(key); there != items_.end())
      policy_.give_to_kernel(there->second);
    shorten(fs::EvictionQueue::kernel_has);
  }

  std::uint64_t misses() const { return misses_; }
  std::size_t held() const { return held_; }
  std::size_t most_held() const { return most_held_; }

 private:
  void shorten(fs::EvictionQueue queue) {
    while (policy_.is_too_long(queue) && drop_from(queue)) {
    }
  }
  bool drop_one() {
    for (const fs::EvictionQueue queue : policy_.order())
      if (drop_from(queue)) return true;
    return false;
  }
  bool drop_from(fs::EvictionQueue queue) {
    const fs::EvictionItem* const item = policy_.next(queue);
    if (item == nullptr) return false;
    held_ -= item->size;
    policy_.remember(item->hash, queue);
    items_.erase(item->hash);
    return true;
  }

  const std::size_t capacity_;
  fs::UseCounter uses_;
  fs::EvictionPolicy policy_;
  std::unordered_map<std::size_t, fs::EvictionItem> items_;
  std::size_t held_ = 0, most_held_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace bloscfs::test
