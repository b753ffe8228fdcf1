#pragma once
// What looks at containers have found of their attributes, by the state that they were found in, so
// that listing attributes and reading them costs one look.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <boost/container_hash/hash.hpp>

#include "fs/source/node.hpp"
#include "fs/support/lru_cache.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// A state of a container: its file's, or, where the mount has changed that since, the number of
/// the snapshot that is below the changes.
struct AttributeKey {
  FileState file;
  std::uint64_t snapshot = 0;
  bool operator==(const AttributeKey&) const = default;

  struct Hash {
    std::size_t operator()(const AttributeKey& key) const {
      std::size_t hash = 0;
      boost::hash_combine(hash, key.file.stamp.device);
      boost::hash_combine(hash, key.file.stamp.inode);
      boost::hash_combine(hash, key.file.ctime_ns);
      boost::hash_combine(hash, key.snapshot);
      return hash;
    }
  };
};

/// Thread-safe. Its memory, 4 MiB at most and 1 part in 16 of the cache's, is part of the one
/// budget.
class AttributeCache {
 public:
  /// `budget` outlives it, and what is found here.
  explicit AttributeCache(MemoryBudget& budget)
      : budget_(budget), known_(std::min(std::size_t{4} << 20, budget.capacity() / 16)) {}

  /// Null if nobody has looked at that state lately.
  std::shared_ptr<const FrameAttributes> find(const AttributeKey& key) { return known_.find(key); }
  void remember(const AttributeKey& key, const std::shared_ptr<const FrameAttributes>& found) {
    const std::size_t memory = found->memory() + kListedCost;
    struct Charged {
      std::shared_ptr<const FrameAttributes> found;
      MemoryBudget::Part memory;
    };
    const auto charged =
        std::make_shared<Charged>(Charged{found, MemoryBudget::Part(budget_, memory)});
    known_.put(key, {charged, found.get()}, memory);
  }

 private:
  /// Of an entry beside what it holds: list, table and their allocations, roughly.
  static constexpr std::size_t kListedCost = 256;

  MemoryBudget& budget_;
  LruCache<AttributeKey, FrameAttributes, AttributeKey::Hash> known_;
};

}  // namespace bloscfs::fs
