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
#include "fs/source/node.hpp"
#include "fs/source/objects/object_looks.hpp"
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
  bool look_is_due = false;          ///< a commit has stored another state
  /// What its content was told to be when that was stored, until it is looked at: the content may
  /// be on its way out.
  std::optional<LogicalAttributes> last_stored = std::nullopt;
  std::optional<frame::ObjectState> outcome = std::nullopt;  ///< which, once nobody has it open

  bool is_directory() const { return part ? part->entry.is_group() : look->is_directory(); }
};

/// The nodes, the names of new files, and which node leads where one path had several states.
/// Thread-safe. ESTALE for nodes that are not known (any more). Asks nobody for anything.
class ObjectNodes {
 public:
  using Node = ObjectNode;
  using Opened = std::shared_ptr<const OpenContainer>;

  explicit ObjectNodes(Node root);

  Node get(NodeId id) const;
  std::optional<Node> find(NodeId id) const;
  /// The node of that state, which is new or known, with one reference more. `stored`: what a
  /// commit of this mount has stored at its path last, if that is known.
  NodeId enter(Node node, const std::optional<frame::ObjectState>& stored);
  void refer(NodeId id);
  void forget(NodeId id, std::uint64_t references);

  // Of new files, which have no object yet.

  /// EEXIST where one in that directory has the name.
  NodeId add_new(const std::string& directory, Node node);
  std::optional<NodeId> find_new(const std::string& directory, const std::string& name) const;
  struct NewName {
    std::string shown, path;
  };
  std::vector<NewName> new_in(const std::string& directory) const;
  /// A commit is about to store it. ESTALE where it has no name any more.
  void begin_storing(NodeId id);
  /// It has no name any more. False, and nothing changes, where the store may have it.
  bool take_unsent_names(NodeId id);
  /// The node as it is then; the owner of one that is not new stays.
  Node set_owner_if_new(NodeId id, const frame::FileAttributes& owner);

  // Of files that are open.

  void set_opened(NodeId id, const Opened& file);
  /// What is open of it: `file`, unless somebody came first.
  Opened set_opened_once(NodeId id, const Opened& file);
  void set_part(NodeId id, std::shared_ptr<const ArchivePart> part);

  // Of states.

  /// What is open for writing at that path, or was.
  std::optional<Node> leading(const std::string& path) const;
  /// False for one whose path has gone to another state's node since it was opened for writing.
  bool leads(NodeId id) const;
  /// A commit of what is open has stored this of it.
  void note_stored(NodeId id, const LogicalAttributes& attributes);
  /// It is found by another look from now on, if it is there at all.
  void rekey(NodeId id, LookPointer look);
  /// The same where that look was due; ESTALE unless it is what a commit has stored.
  void adopt(NodeId id, LookPointer look);
  /// Its content has gone, and `stored` is what it has stored last.
  void record_outcome(NodeId id, const std::optional<frame::ObjectState>& stored);
  struct Moved {
    std::string before, path;
    bool was_new = false;
  };
  /// It has that full name in the same directory from now on.
  Moved stored_as(NodeId id, const std::string& full_name);
  void renamed(NodeId id, const std::string& path, NodeId parent, const std::string& shown_name,
               LookPointer look);
  /// It has no name any more. Its path; nothing if it is not known.
  std::optional<std::string> take_names(NodeId id);

 private:
  /// What two nodes differ in: state, and the key in a store.
  using Key = std::tuple<const void*, std::string, bool>;
  static Key key_of(const Node& node);

  Node& at(NodeId id) REQUIRES(mutex_);
  NodeId same_as(const Node& node, const std::optional<frame::ObjectState>& stored)
      REQUIRES(mutex_);
  void unmap(NodeId id, const Node& node) REQUIRES(mutex_);
  void rekey_locked(NodeId id, Node& node, LookPointer look) REQUIRES(mutex_);
  void leave_names(NodeId id, Node& node) REQUIRES(mutex_);
  void leave_leading(NodeId id, const std::string& path) REQUIRES(mutex_);

  mutable Mutex mutex_;
  NodeId next_id_ GUARDED_BY(mutex_) = kRootId + 1;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::map<Key, NodeId> ids_ GUARDED_BY(mutex_);
  /// New files by directory and shown name.
  std::map<std::pair<std::string, std::string>, NodeId> new_files_ GUARDED_BY(mutex_);
  /// Frames that are open for writing, or were, by their paths: those of another state of the store
  /// are other nodes.
  std::map<std::string, NodeId> leading_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
