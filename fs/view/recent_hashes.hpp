#pragma once
// Remembers hashes of keys: the most recent ones, up to a total weight.

#include <cstddef>
#include <deque>
#include <unordered_set>
#include <utility>

namespace bloscfs::fs {

/// Not thread-safe.
class RecentHashes {
 public:
  explicit RecentHashes(std::size_t most) : most_(most) {}

  void add(std::size_t hash, std::size_t weight) {
    if (!hashes_.insert(hash).second) return;
    order_.emplace_back(hash, weight);
    weight_ += weight;
    while (weight_ > most_) {
      hashes_.erase(order_.front().first);
      weight_ -= order_.front().second;
      order_.pop_front();
    }
  }
  bool contains(std::size_t hash) const { return hashes_.count(hash) != 0; }
  /// Returns false if the hash was not remembered.
  bool erase(std::size_t hash) { return hashes_.erase(hash) != 0; }
  void clear() {
    hashes_.clear();
    order_.clear();
    weight_ = 0;
  }

 private:
  const std::size_t most_;
  std::size_t weight_ = 0;
  /// Hashes with their weights, oldest first. Some may have been erased since.
  std::deque<std::pair<std::size_t, std::size_t>> order_;
  std::unordered_set<std::size_t> hashes_;
};

}  // namespace bloscfs::fs
