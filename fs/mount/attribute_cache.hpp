#pragma once
// What looks at containers have found of their attributes, by the state that they were found in, so
// that listing attributes and reading them costs one look.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "frame/store/lru_map.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// A state of a container: its file's, or, where the mount has changed that since, the number of
/// the snapshot that is below the changes.
struct AttributeKey {
  FileState file;
  std::uint64_t snapshot = 0;
  bool operator==(const AttributeKey&) const = default;
};

/// Thread-safe. Its memory, 4 MiB at most and 1 part in 16 of the cache's, is part of the one
/// budget.
class AttributeCache {
 public:
  static constexpr std::size_t kMaxMemory = std::size_t{4} << 20;

  /// `budget` outlives it.
  explicit AttributeCache(MemoryBudget& budget);

  /// Null if nobody has looked at that state lately.
  std::shared_ptr<const FrameAttributes> find(const AttributeKey& key);
  void remember(const AttributeKey& key, std::shared_ptr<const FrameAttributes> found);

 private:
  struct Known {
    std::shared_ptr<const FrameAttributes> found;
    std::size_t memory;
  };
  struct Hash {
    std::size_t operator()(const AttributeKey& key) const;
  };

  const std::size_t limit_;
  Mutex mutex_;
  frame::LruMap<AttributeKey, Known, Hash> known_ GUARDED_BY(mutex_);
  MemoryBudget::Part memory_ GUARDED_BY(mutex_);  ///< of all entries
};

}  // namespace bloscfs::fs
