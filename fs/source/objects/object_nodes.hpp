#pragma once
// The nodes of a tree of objects: what the kernel knows, by node ids.

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
  std::string path;  ///< in the tree; for a part of an archive, that of the archive
  LookPointer look;  ///< of the object; for a part of an archive, of the archive
  std::shared_ptr<const ArchivePart> part = nullptr;
  std::uint64_t references = 0;
  std::weak_ptr<const OpenContainer> open_file = {};
  std::string shown_name = {};  ///< if the mount has given the name; else empty
  bool is_new = false;          ///< never committed
  bool is_sent = false;         ///< new, but the store may have it
  bool is_removed = false;
  frame::FileAttributes owner = {};  ///< of a new file

  bool is_directory() const { return part ? part->entry.is_group() : look->is_directory(); }
  bool is_in_archive() const { return part || look->is_store(); }
  /// For files only.
  std::string name_shown() const {
    return shown_name.empty() ? preferred_name(name_of(path), look->shown) : shown_name;
  }
  /// True if `other` is the state that this node stands for, or `stored`. `stored` is the state
  /// that a commit of this mount stored last at the node's path, if that is known.
  bool is_own(const ObjectLook& other, const std::optional<frame::ObjectState>& stored) const {
    return look->same_as(other) || (stored && stored->same_bytes(other.state));
  }
};

/// The nodes by id. A path whose object had several states has several nodes. At most one node
/// leads a path, and may take precedence over the state in the object store. It is a new file, or a
/// frame that is or was open for writing. Thread-safe. Throws ESTALE for unknown nodes. Never asks
/// the store.
class ObjectNodes {
 public:
  using Node = ObjectNode;

  explicit ObjectNodes(Node root);

  Node get(NodeId id) const;
  std::optional<Node> find(NodeId id) const;
  /// Counts a reference to the node that stands for the state of `node`, and returns its id. Adds
  /// `node` if there is no such node. For `stored` see ObjectNode::is_own().
  NodeId enter(Node node, const std::optional<frame::ObjectState>& stored);
  void refer(NodeId id);
  void forget(NodeId id, std::uint64_t references);
  /// Calls `change` with the node, under the lock, and returns its result. `change` must not modify
  /// what key_of() reads.
  template <typename Change>
  auto change(NodeId id, const Change& change) {
    const MutexLock lock(mutex_);
    return change(at(id));
  }

  // --- new files, which have no object yet

  /// Throws EEXIST if the path already has a new file.
  NodeId add_new(Node node);
  std::vector<Node> new_files_in(const std::string& directory) const;
  /// Removes the name of a new file. Returns false, and changes nothing, if the object store may
  /// already have the file.
  bool mark_removed_if_unsent(NodeId id);

  // --- states

  /// Records that the node is open for writing, and makes it the leading node of its path.
  void set_opened(NodeId id, const std::shared_ptr<const OpenContainer>& file);
  /// Returns the leading node of the path.
  std::optional<std::pair<NodeId, Node>> leading(const std::string& path) const;
  /// True if the node leads its path. It stops leading if a node of another state takes the path.
  bool owns_path(NodeId id) const;
  /// Gives the node another look, by which enter() finds it from now on.
  void rekey(NodeId id, LookPointer look);
  /// Records that the file is stored under that full name, in the same directory.
  Node note_stored_state(NodeId id, const std::string& full_name);
  void renamed(NodeId id, const std::string& path, NodeId parent, const std::string& shown_name,
               LookPointer look);
  /// Records that the file has no name any more.
  void mark_removed(NodeId id);

 private:
  /// What distinguishes nodes: the look; in an archive, the archive, the entry's key, and whether
  /// the entry is a file.
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
  /// The leading nodes by their paths.
  std::map<std::string, NodeId> leading_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
