#pragma once
// What the kernel knows of a tree of objects, by numbers.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/content/open_file.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/node.hpp"
#include "fs/source/objects/object_looks.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

struct ObjectNode {
  NodeId parent = kRootId;
  std::string path;  ///< in the tree, of an archive's part that of the archive
  LookPointer look;  ///< of an object; of an archive's part that of the archive
  std::shared_ptr<const ArchivePart> part = nullptr;
  std::uint64_t references = 0;
  std::weak_ptr<const OpenContainer> open_file = {};
  std::string shown_name = {};  ///< of what was made here
  bool is_new = false;          ///< never committed
  bool is_sent = false;         ///< new, but the store may have it
  bool is_removed = false;
  frame::FileAttributes owner = {};  ///< of a new one

  bool is_directory() const { return part ? part->entry.is_group() : look->is_directory(); }
  bool is_in_archive() const { return part || look->is_store(); }
  /// Of a file.
  std::string name_shown() const {
    return shown_name.empty() ? preferred_name(name_of(path), look->shown) : shown_name;
  }
  /// True of the state that it stands for, and of what a commit of this mount has stored at its
  /// path last, `stored`, if that is known.
  bool is_own(const ObjectLook& other, const std::optional<frame::ObjectState>& stored) const {
    return look->same_as(other) || (stored && stored->same_bytes(other.state));
  }
};

/// The nodes, and which node leads where one path had several states.
/// Thread-safe. ESTALE for nodes that are not known (any more). Asks nobody for anything.
class ObjectNodes {
 public:
  using Node = ObjectNode;

  explicit ObjectNodes(Node root);

  Node get(NodeId id) const;
  std::optional<Node> find(NodeId id) const;
  /// The node of that state, which is new or known, with one reference more. `stored` as of
  /// ObjectNode::is_own().
  NodeId enter(Node node, const std::optional<frame::ObjectState>& stored);
  void refer(NodeId id);
  void forget(NodeId id, std::uint64_t references);
  /// Changes what no node is found by: calls `change` with the node, and returns its result. Nobody
  /// else has the nodes meanwhile.
  template <typename Change>
  auto change(NodeId id, const Change& change) {
    const MutexLock lock(mutex_);
    return change(at(id));
  }

  // Of new files, which have no object yet.

  /// EEXIST where there is one of that path.
  NodeId add_new(Node node);
  std::vector<Node> new_in(const std::string& directory) const;
  /// It has no name any more. False, and nothing changes, where the store may have it.
  bool take_unsent_names(NodeId id);

  // Of states.

  /// It is open for writing, and leads.
  void set_opened(NodeId id, const std::shared_ptr<const OpenContainer>& file);
  /// A new file, or what is open for writing at that path, or was.
  std::optional<std::pair<NodeId, Node>> leading(const std::string& path) const;
  /// False for one whose path has gone to another state's node since it was opened for writing.
  bool leads(NodeId id) const;
  /// It is found by another look from now on.
  void rekey(NodeId id, LookPointer look);
  /// It is a stored file from now on, of that full name in the same directory.
  Node stored_as(NodeId id, const std::string& full_name);
  void renamed(NodeId id, const std::string& path, NodeId parent, const std::string& shown_name,
               LookPointer look);
  /// It has no name any more.
  void take_names(NodeId id);

 private:
  /// What two nodes differ in: state, and the key in a store.
  using Key = std::tuple<const void*, std::string, bool>;
  static Key key_of(const Node& node);

  Node& at(NodeId id) REQUIRES(mutex_);
  NodeId same_as(const Node& node, const std::optional<frame::ObjectState>& stored)
      REQUIRES(mutex_);
  void unmap(NodeId id, const Node& node) REQUIRES(mutex_);
  void rekey_locked(NodeId id, Node& node, LookPointer look) REQUIRES(mutex_);
  void leave_leading(NodeId id, const Node& node) REQUIRES(mutex_);

  mutable Mutex mutex_{LockLevel::table};
  NodeId next_id_ GUARDED_BY(mutex_) = kRootId + 1;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::map<Key, NodeId> ids_ GUARDED_BY(mutex_);
  /// New files, and frames that are open for writing, or were, by their paths: those of another
  /// state of the store are other nodes.
  std::map<std::string, NodeId> leading_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
