#pragma once
// Extended attributes of the mount: those of containers and of groups of stores, and those of the
// stored files.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/container_hash/hash.hpp>

#include "fs/source/contents.hpp"
#include "fs/source/node.hpp"
#include "fs/source/source.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/lru_cache.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Identifies a state of a container: by the state of its file, or, if the mount has changed it
/// since, by the number of the snapshot below the changes.
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

/// Caches the attributes of containers, so that listxattr(2) and the getxattr(2) calls after it
/// read a container once. Takes 4 MiB, or 1/16 of cache_size if that is less. Thread-safe.
class AttributeCache {
 public:
  /// `budget` outlives this cache and its values.
  explicit AttributeCache(MemoryBudget& budget)
      : budget_(budget), known_(std::min(std::size_t{4} << 20, budget.capacity() / 16)) {}

  /// Returns null if the attributes of that state are not cached.
  std::shared_ptr<const FrameAttributes> find(const AttributeKey& key) { return known_.find(key); }
  void remember(const AttributeKey& key, const std::shared_ptr<const FrameAttributes>& found) {
    const std::size_t memory = found->memory() + kListedCost;
    // Takes the memory from the budget until the last user has dropped the attributes.
    struct Charged {
      std::shared_ptr<const FrameAttributes> found;
      MemoryBudget::Part memory;
    };
    const auto charged =
        std::make_shared<Charged>(Charged{found, MemoryBudget::Part(budget_, memory)});
    known_.put(key, {charged, found.get()}, memory);
  }

 private:
  /// Estimated overhead of a cache entry: list node, table slot and their allocations.
  static constexpr std::size_t kListedCost = 256;

  MemoryBudget& budget_;
  LruCache<AttributeKey, FrameAttributes, AttributeKey::Hash> known_;
};

/// Thread-safe. Throws std::system_error and codec::Error. Throws NoSlot before it decodes, and
/// before it changes an attribute of a container.
class ExtendedAttributes {
 public:
  /// All three outlive this object. The cached attributes take memory of `budget`.
  ExtendedAttributes(Source& source, Contents& contents, MemoryBudget& budget)
      : source_(source), contents_(contents), known_(budget) {}

  std::vector<std::string> list(Request& request, NodeId node);
  /// `name` must be in a shown name space. Throws ENODATA if there is no such attribute.
  std::string read(Request& request, NodeId node, const std::string& name);
  /// Sets an attribute, or removes it if `value` is null. `flags` are those of setxattr(2). Throws
  /// EPERM for a computed attribute, or one that describes the frame, unless `value` is its present
  /// value. Throws EINVAL for an unknown name below user.blosc2., and for a value that should be
  /// JSON and is not.
  void set(Request& request, NodeId node, const std::string& name, const std::string* value,
           int flags);

 private:
  std::shared_ptr<const FrameAttributes> look_at_frame(Request& request, NodeId node,
                                                       const AttributeFacts& facts);
  std::optional<std::string> frame_attribute(Request& request, NodeId node,
                                             const AttributeFacts& facts, const std::string& name);

  Source& source_;
  Contents& contents_;
  AttributeCache known_;
};

}  // namespace bloscfs::fs
