#pragma once
// The nodes of what stores hold: which the kernel knows, what they are, and what is read of them.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/content.hpp"
#include "fs/content/open_file.hpp"
#include "fs/stores/mounted_store.hpp"
#include "fs/support/sync.hpp"
#include "fs/tree/tree.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, ESTALE for nodes that are not known (any more), ENOMEM
/// where the stores that a user has opened hold too much; codec::Error. NoTurn where something has
/// to be read.
class Stores {
 public:
  /// `tree` and `budget` outlive this object. `raw` as of MountOptions.
  Stores(Tree& tree, MemoryBudget& budget, bool raw) : tree_(tree), budget_(budget), raw_(raw) {}

  static bool holds(NodeId node) { return node >= kFirstInStores; }
  /// True for what is in a store, and for a store itself.
  bool is_part(NodeId node) const { return holds(node) || is_root(node); }
  bool is_root(NodeId node) const { return !holds(node) && tree_.is_store(node); }

  /// As Tree's, of a directory that is_part().
  std::optional<Tree::Found> lookup(NodeId directory, const std::string& name);
  std::vector<Tree::DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many);
  /// Of what holds().
  struct stat attributes(NodeId id);
  std::string read_link(NodeId id);
  void forget(NodeId id, std::uint64_t references);
  /// For messages.
  std::string told_path(NodeId id) const;
  /// What all handles of a leaf share. EISDIR, ELOOP of what is none.
  std::shared_ptr<const OpenContainer> open(NodeId id, const ContentServices& services);

  /// Of what is_part(): the attributes that the store gives, without those that are computed.
  std::vector<std::string> attribute_names(NodeId id);
  std::optional<std::string> attribute(NodeId id, const std::string& name);

 private:
  struct Place {
    std::shared_ptr<const MountedStore> store;
    NodeId root = 0;
    std::string group;
  };
  struct Node {
    std::shared_ptr<const MountedStore> store;
    NodeId root = 0;
    MountedStore::Child child;
    std::uint64_t references = 0;
    std::optional<std::int64_t> size = std::nullopt;
    std::int64_t stored_size = 0;
    std::weak_ptr<const OpenContainer> open_file = {};
  };
  using Key = std::tuple<NodeId, std::string, bool>;  ///< store, key, whether it is a leaf

  Node node(NodeId id) const EXCLUDES(mutex_);
  Place place(NodeId directory) EXCLUDES(mutex_);
  std::shared_ptr<const MountedStore> store_of(NodeId root) EXCLUDES(mutex_);
  std::shared_ptr<const MountedStore> open_store(NodeId root);
  std::shared_ptr<const MountedStore> recent(NodeId root) REQUIRES(mutex_);
  NodeId enter(const Place& place, const MountedStore::Child& child) EXCLUDES(mutex_);
  struct stat look_at(const Node& node) const EXCLUDES(mutex_);
  void measure(NodeId id, const Node& node) EXCLUDES(mutex_);
  /// The frame that has a node's metalayers; null where there is none.
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId id) EXCLUDES(mutex_);
  std::optional<std::string> group_attribute(NodeId id, const std::string& name);

  Tree& tree_;
  MemoryBudget& budget_;
  const bool raw_;
  mutable Mutex mutex_;
  NodeId next_id_ GUARDED_BY(mutex_) = kFirstInStores;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::map<Key, NodeId> ids_ GUARDED_BY(mutex_);
  /// The stores that were used last; others live as long as their nodes.
  std::list<std::pair<NodeId, std::shared_ptr<const MountedStore>>> recent_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
