#pragma once
// The nodes of a tree of objects: which the kernel knows, what they are, and what is read of them.

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
#include "fs/objects/object_listings.hpp"
#include "fs/objects/object_looks.hpp"
#include "fs/options/owner_override.hpp"
#include "fs/stores/mounted_store.hpp"
#include "fs/support/sync.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: as ObjectTree's, ESTALE for nodes that are not known (any more), and for
/// objects that have another state; codec::Error. NoTurn where something must be asked for.
class Objects {
 public:
  /// `budget` outlives this object.
  Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
          const OwnerOverride& owner, MemoryBudget& budget);

  /// Looks at SOURCE itself: throws where it cannot be shown.
  void require_shown();

  /// As Tree's.
  std::optional<Tree::Found> lookup(NodeId directory, const std::string& name);
  std::vector<Tree::DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many);
  Tree::Found reference(NodeId id);
  NodeId parent(NodeId id);
  void forget(NodeId id, std::uint64_t references);
  struct stat attributes(NodeId id);
  std::string read_link(NodeId id);
  /// EIO where damage has left unknown what a store's directory holds.
  void require_listed(NodeId directory);
  /// For messages.
  std::string told_path(NodeId id);

  /// What an open file is: a container, or an object whose bytes are shown.
  struct Opened {
    std::shared_ptr<const OpenContainer> container;
    std::shared_ptr<const frame::ObjectSource> object;  ///< without a container
    struct stat attributes {};
  };
  /// In the state that the node stands for: ESTALE if that is not the present one. EISDIR, ELOOP.
  Opened open(NodeId id, const ContentServices& services);

  /// The frame that has the metalayers; null where there is none.
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId id);
  /// Nothing where it has none of that name.
  std::optional<std::string> attribute(NodeId id, const std::string& name);

 private:
  /// The store that the node is, or is in, and the group that it is, if it is one.
  struct StoreGroup {
    std::shared_ptr<const MountedStore> store;
    std::string group;
  };
  std::optional<StoreGroup> store_group(NodeId id);

  struct Node {
    NodeId parent = kRootId;
    std::string path;  ///< in the tree, of a store's part that of the store
    LookPointer look;  ///< of an object; of a store's part that of the store
    std::shared_ptr<const MountedStore> store = nullptr;  ///< of a store's part
    std::optional<MountedStore::Child> child = std::nullopt;
    std::int64_t size = -1;  ///< of a store's leaf, once it is known
    std::int64_t stored_size = 0;
    std::uint64_t references = 0;
    std::weak_ptr<const OpenContainer> open_file = {};
  };
  /// What two nodes differ in: state, and the key in a store.
  using Key = std::tuple<const void*, std::string, bool>;

  static Key key_of(const Node& node);
  Node node(NodeId id) const EXCLUDES(mutex_);
  Node directory(NodeId id) const;
  Tree::Found enter(Node node);
  ObjectListing::Judge judge_in(const std::string& directory);
  ListingPointer listing(const std::string& directory, bool anew);
  std::optional<Node> find_in(NodeId parent, const Node& directory, const std::string& name,
                              const ObjectListing& listing);
  std::optional<Node> look_at(NodeId parent, const Node& directory, const frame::ObjectEntry& entry,
                              const ObjectListing& listing);
  ListingPointer single_listing();
  std::optional<Tree::Found> lookup_in_store(NodeId parent, const Node& node,
                                             const std::string& name);
  std::shared_ptr<const MountedStore> store_of(const Node& node) EXCLUDES(mutex_);
  std::string group_of(const Node& node) const;
  void measure(NodeId id, const Node& node);
  struct stat status(const Node& node) const;
  struct stat base_status(const ObjectLook& look) const;
  ino_t inode_of(const Node& node) const;
  ino_t inode_of(const std::string& path) const;
  mode_t guessed_type(const std::string& path, const frame::ObjectEntry& entry);
  std::string told(const Node& node) const;

  const std::shared_ptr<frame::ObjectTree> tree_;
  MemoryBudget& budget_;
  const OwnerOverride owner_;
  const timespec began_;
  ObjectLooks looks_;
  ObjectListings listings_;
  mutable Mutex mutex_;
  NodeId next_id_ GUARDED_BY(mutex_) = kRootId + 1;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::map<Key, NodeId> ids_ GUARDED_BY(mutex_);
  /// The stores that were used last, by their states.
  std::list<std::pair<LookPointer, std::shared_ptr<const MountedStore>>> stores_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
