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

#include "frame/store/lru_map.hpp"
#include "fs/content/content.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/archives/mounted_store.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/tree/beside.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, ESTALE for nodes that are not known (any more), EFBIG
/// and ENOMEM where a store, or the stores that a user has opened, hold too much; codec::Error.
/// NoTurn where something has to be read.
class Stores : public Beside {
 public:
  /// All outlive this object; `tree` asks it what stands beside its entries. `raw` as of
  /// MountOptions.
  Stores(const SourceRoot& root, Tree& tree, MemoryBudget& budget, bool raw)
      : root_(root), tree_(tree), budget_(budget), raw_(raw) {
    tree.set_beside(*this);
  }

  static bool holds(NodeId node) { return node >= kFirstInStores; }
  /// True for what is in a store that is a file, or embedded in one that is a directory, and for a
  /// store's file itself.
  bool is_part(NodeId node) const { return holds(node) || is_root(node); }
  bool is_root(NodeId node) const { return !holds(node) && tree_.is_store(node); }

  // As Tree asks for them (fs/source/local/tree/beside.hpp).

  std::optional<Entry> find(const StorePlace& place, const std::string& full_name) override;
  bool has_any(const StorePlace& place) override;
  void require_complete(const StorePlace& place, const std::string& name) override;
  std::vector<Entry> list(const StorePlace& place, const std::function<void()>& if_any) override;
  NodeId enter(const StorePlace& place, const std::string& full_name,
               struct stat& attributes) override;

  /// What is embedded in a store that is a directory, as that is now; null if it is none any more.
  std::shared_ptr<const MountedStore> embedded_of(const StorePlace& place);
  /// Where something is embedded: its group, and its key. Nothing for what is in a file.
  struct Embedded {
    StorePlace place;
    MountedStore::Child child;
  };
  std::optional<Embedded> embedded(NodeId id);
  /// The tree's node of a group that was embedded alone when the kernel learned of it, and has
  /// become a directory; else the node itself.
  NodeId present(NodeId id);
  /// The tree's node of a group's directory, with one reference unless it is the root; 0 if there
  /// is none.
  NodeId find_directory(NodeId root, const std::string& group);

  /// As Tree's, of a directory that is_part().
  std::optional<FoundNode> lookup(NodeId directory, const std::string& name);
  std::vector<DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many);
  /// EIO at the end of a listing that damage has left incomplete; of any directory.
  void require_listed(NodeId directory);
  /// Of what holds().
  struct stat attributes(NodeId id);
  std::string read_link(NodeId id);
  void forget(NodeId id, std::uint64_t references);
  /// For messages.
  std::string told_path(NodeId id) const;
  /// What all handles of a leaf share. EISDIR, ELOOP of what is none.
  std::shared_ptr<const OpenContainer> open(NodeId id, const ContentServices& services);

  bool is_leaf(NodeId id) const { return holds(id) && node(id).child.leaf; }
  /// The frame that has the metalayers of what is_part(); null where there is none.
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId id);
  /// Of a group that is_part(). Nothing where it has none of that name.
  std::optional<std::string> group_attribute(NodeId id, const std::string& name);
  /// The same two of a group of a store that is a directory.
  std::shared_ptr<const frame::Snapshot> frame_of(const StorePlace& group);
  std::optional<std::string> group_attribute(const StorePlace& group, const std::string& name);
  /// Who may do what with a file that holds leaves may do that with each of them: its access list,
  /// of a leaf, or of a group that is embedded.
  std::optional<std::string> access_list(NodeId id, const std::string& name);

 private:
  struct Place {
    std::shared_ptr<const MountedStore> store;
    NodeId root = 0;
    std::string group;
  };
  struct Node {
    std::shared_ptr<const MountedStore> store;  ///< null: another state has come since
    NodeId root = 0;
    MountedStore::Child child;
    std::shared_ptr<const struct stat> embed = nullptr;  ///< the store's
    std::uint64_t references = 0;
    std::optional<std::int64_t> size = std::nullopt;
    std::int64_t stored_size = 0;
    std::weak_ptr<const OpenContainer> open_file = {};
    bool was_opened = false;
    NodeId became = 0;  ///< the tree's, with one reference
  };
  /// State of a store, key, whether it is a leaf.
  using Key = std::tuple<const MountedStore*, std::string, bool>;
  /// The last state of a directory's embed.b2e that was looked at.
  struct EmbeddedState {
    FileState state;
    std::weak_ptr<const MountedStore> store;
    bool is_none = false;  ///< no store
  };

  std::shared_ptr<void> keep_node(NodeId id);
  static ino_t inode_of(const struct stat& store, const MountedStore::Child& child);
  Node node(NodeId id) const EXCLUDES(mutex_);
  Place place(NodeId directory) EXCLUDES(mutex_);
  std::shared_ptr<const MountedStore> store_of(NodeId root) EXCLUDES(mutex_);
  std::shared_ptr<const MountedStore> open_store(NodeId root);
  /// What a store is opened with; those that nobody uses give way.
  std::shared_ptr<MemoryBudget::Listing> charge_for(const SourcePath& path) EXCLUDES(mutex_);
  bool drop_recent() EXCLUDES(mutex_);
  /// The node, if what it stands for is as it was, or it can stand for what is there now: ESTALE.
  Node present_leaf(NodeId id);
  void leave_state(NodeId root, const MountedStore* present,
                   std::vector<std::shared_ptr<const MountedStore>>& dropped) REQUIRES(mutex_);
  std::optional<std::shared_ptr<const MountedStore>> look_at_embedded(const StorePlace& place,
                                                                      bool is_last)
      EXCLUDES(mutex_);
  /// Null in it: it is known to be no store.
  std::optional<std::shared_ptr<const MountedStore>> known_embedded(NodeId root,
                                                                    const FileState& state)
      EXCLUDES(mutex_);
  /// `outdated` is not to be given any more. Returns what is to be used.
  std::shared_ptr<const MountedStore> remember_embedded(NodeId root, const FileState& state,
                                                        std::shared_ptr<const MountedStore> store,
                                                        const MountedStore* outdated)
      EXCLUDES(mutex_);
  std::shared_ptr<const MountedStore> open_embedded(const StorePlace& place,
                                                    std::shared_ptr<const SourceObject> embed);
  Entry entry_of(const MountedStore& store, MountedStore::Child child) const;
  NodeId enter(const Place& place, const MountedStore::Child& child) EXCLUDES(mutex_);
  struct stat status_of(const struct stat* embed, NodeId root) const EXCLUDES(mutex_);
  struct stat look_at(const Node& node) const EXCLUDES(mutex_);
  void measure(NodeId id, const Node& node) EXCLUDES(mutex_);
  std::unique_ptr<frame::PythonStore> open_whole(const StorePlace& place,
                                                 const frame::ChargePointer& charge) const;

  const SourceRoot& root_;
  Tree& tree_;
  MemoryBudget& budget_;
  const bool raw_;
  mutable Mutex mutex_;
  NodeId next_id_ GUARDED_BY(mutex_) = kFirstInStores;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::map<Key, NodeId> ids_ GUARDED_BY(mutex_);
  std::map<NodeId, EmbeddedState> embedded_ GUARDED_BY(mutex_);  ///< by the store's directory
  std::size_t embedded_to_look_through_ GUARDED_BY(mutex_) = 64;
  /// Stores that stay open though the kernel knows nothing in them; others live as long as their
  /// nodes. One with 100,000 members takes 15 MB.
  frame::LruMap<NodeId, std::shared_ptr<const MountedStore>> recent_ GUARDED_BY(mutex_){4};
};

}  // namespace bloscfs::fs
