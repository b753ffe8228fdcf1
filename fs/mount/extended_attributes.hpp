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

/// Caches the attributes of containers, so that listxattr(2) and the getxattr(2) calls after it
/// read a container once. Takes 4 MiB, or 1/16 of cache_size if that is less. Thread-safe.
class AttributeCache {
 public:
  /// `budget` outlives this cache and its values.
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

/// Thread-safe. Throws std::system_error and codec::Error; NoSlot before it decodes, or changes a
/// container's own attributes.
class ExtendedAttributes {
 public:
  /// All outlive it; its memory is a part of `budget`.
  ExtendedAttributes(Source& source, Contents& contents, MemoryBudget& budget)
      : source_(source), contents_(contents), known_(budget) {}

  std::vector<std::string> list(Request& request, NodeId node);
  /// Of a name that is in a name space that is shown. Throws ENODATA where there is none.
  std::string read(Request& request, NodeId node, const std::string& name);
  /// `value`: null to remove it. `flags` as in setxattr(2). EPERM for what is computed or says what
  /// a frame is, unless that is the value that it has; EINVAL for other names below user.blosc2.
  /// and for what is no JSON.
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
