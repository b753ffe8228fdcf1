#pragma once
// The nodes that the kernel knows, or that the mount still needs: their names in SOURCE, the
// references to them, and which of them still wait for their names.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/intrusive/unordered_set.hpp>
#include <sys/stat.h>

#include "frame/store/byte_source.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/judge.hpp"
#include "fs/source/local/files/source_object.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/node.hpp"

namespace bloscfs::fs {

/// The time of change to show for an object. The time of change in SOURCE cannot be set, so it may
/// be that of the daemon's work, such as a commit. `shown_ns` is when a user changed the object
/// last.
struct ShownChange {
  std::int64_t stored_ns = 0;  ///< shown_ns replaces this time of SOURCE, and no other
  std::int64_t shown_ns = 0;
};

/// A node: an object of SOURCE, or a part of an archive. Most nodes are files that were listed but
/// never opened, so members that few nodes need are in `Rare`.
struct Node : EntryKindBase {
  /// An entry of a directory. Names are full names in SOURCE.
  struct Name {
    Node* parent = nullptr;
    std::string name;
    bool operator==(const Name&) const = default;
  };
  struct Rare {
    /// Further names of a file with hard links, least recently seen first.
    std::vector<Name> other_names;
    /// The full name of a pending node, by which it is shown before it has that name in SOURCE.
    /// Until then it is a temporary there.
    std::optional<std::string> wanted_name;
    /// The temporary of a new file, until its first commit or rename.
    std::shared_ptr<const SourceObject> made;
    /// The state of the file that still has the wanted name in SOURCE, and that the first commit is
    /// to replace.
    std::optional<frame::FileStamp> replaces;
    std::uint32_t plain_writers = 0;
    std::optional<std::string> link_text;  ///< of a symlink: its stored text, in the node's state
    std::shared_ptr<const SourceObject> remains;  ///< the object, once it has no name
    /// Size of a container without a name. It is shown while the container is not open.
    std::int64_t last_size = 0;
    std::vector<std::shared_ptr<void>> at_end;  ///< destroyed with the node
    /// The part of an archive that the node stands for; null for an object of SOURCE.
    std::shared_ptr<const ArchivePart> part;
    bool operator==(const Rare&) const = default;
  };
  using Hook = boost::intrusive::unordered_set_member_hook<>;

  const Rare& rare() const;
  Rare& make_rare();
  /// Frees the rare members if all of them are empty.
  void trim_rare();
  bool has_name() const { return name.parent != nullptr; }

  std::uint32_t name_changes = 0;  ///< of a directory: how often this mount has changed its names
  Hook by_id;
  Hook by_identity;  ///< linked while the node stands for its object
  NodeId id = 0;
  std::uint64_t references = 0;  ///< held by the kernel
  std::uint32_t pins = 0;        ///< held by the daemon
  std::uint32_t children = 0;    ///< names of other nodes in this directory
  mode_t type = 0;
  ShownAs shown = ShownAs::itself;  ///< how the stored file is shown, also during a commit that
                                    ///< stores it in another form
  bool was_opened = false;  ///< an open has succeeded, so the kernel may have pages of this state
  bool has_unnotified_change = false;  ///< its state has changed since the kernel was last notified
  bool is_being_notified = false;      ///< the kernel is being notified now
  Identity identity;
  FileState state;
  ShownChange shown_change;
  Name name;  ///< the name seen last; without parent once all are removed
  std::weak_ptr<const OpenFile> open_file;
  std::unique_ptr<Rare> rare_parts;
};

/// Nodes by id, by object and by the name that they wait for. Not thread-safe: the mutex of its
/// owner, Nodes, guards it. Throws std::system_error(ESTALE) for ids that are not in use (any more)
/// and for nodes without a name. Unused nodes stay until drop_unused() is called.
class NodeTable {
 public:
  /// Must be destroyed after the owner has released its mutex, since destroying what nodes own may
  /// take long.
  struct Dropped {
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<std::shared_ptr<const void>> others;
  };

  NodeTable();
  ~NodeTable();
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  /// Removes unused nodes and returns them. Called before the owner releases its mutex.
  [[nodiscard]] Dropped drop_unused();
  /// Makes drop_unused() return `other`, too.
  void drop(std::shared_ptr<const void> other) { dropped_.others.push_back(std::move(other)); }

  Node& node(NodeId id) const;
  Node* find(NodeId id) const;
  /// Returns the node that stands for an object now; null if none does.
  Node* current(const Identity& identity) const;

  /// Adds a node with one reference of the kernel. From now on it stands for the object, and no
  /// other node does.
  Node& add(Node& parent, const std::string& name, const Identity& identity);
  /// Makes the node stand for another object from now on. Retires any other node that stood for
  /// that object.
  void set_identity(Node& node, const Identity& identity);
  /// Must be called when the node's object goes away. The node does not stand for it any more.
  void retire(Node& node);

  /// Adds a name to the front of the node's names, or moves a known name there. A directory has
  /// only one name. While a node waits for its name, its temporary's name stays in front.
  void add_name(Node& node, Node& parent, const std::string& name);
  void remove_name(Node& node, Node& parent, const std::string& name);
  /// Returns the path below SOURCE by the name seen last.
  SourcePath path(const Node& node) const;
  /// Returns the paths by all known names, last seen first.
  std::vector<SourcePath> paths(const Node& node) const;

  // Parts of archives.

  /// Returns the part's node, a new one if necessary, and counts one more reference of the kernel.
  Node& enter_part(Node& parent, const std::shared_ptr<const ArchivePart>& part);
  /// Replaces the node's part. Null: the node stands for an object of SOURCE from now on.
  void set_part(Node& node, std::shared_ptr<const ArchivePart> part);
  std::vector<Node*> parts() const;

  /// forget() takes back references of the kernel, unpin() takes back a pin.
  void forget(Node& node, std::uint64_t references);
  void unpin(Node& node);

  /// Returns the node that waits for a name in `directory`; null if none does.
  Node* pending(NodeId directory, const std::string& wanted_name) const;
  /// Makes the node wait for a name in its present directory.
  void set_pending(Node& node, const std::string& wanted_name);
  /// Ends the wait: the node has its name now, or none.
  void clear_pending(Node& node);
  std::vector<Node*> pending_in(NodeId directory) const;

 private:
  struct IdOf {
    using type = NodeId;
    type operator()(const Node& node) const { return node.id; }
  };
  struct IdentityOf {
    using type = Identity;
    const type& operator()(const Node& node) const { return node.identity; }
  };
  struct Hash {
    std::size_t operator()(NodeId id) const { return static_cast<std::size_t>(id); }
    std::size_t operator()(const Identity& id) const;
  };
  template <Node::Hook Node::*hook, typename KeyOf>
  using Index =
      boost::intrusive::unordered_set<Node, boost::intrusive::member_hook<Node, Node::Hook, hook>,
                                      boost::intrusive::key_of_value<KeyOf>,
                                      boost::intrusive::hash<Hash>,
                                      boost::intrusive::power_2_buckets<true>>;
  using ById = Index<&Node::by_id, IdOf>;
  using ByIdentity = Index<&Node::by_identity, IdentityOf>;

  void grow();
  Node& make_node(Node& parent, const std::string& name, const Identity& identity);
  /// Returns nullopt if a directory above has no name any more.
  static std::optional<std::string> text_by(const Node::Name& name);
  static std::optional<SourcePath> path_by(const Node& node, const Node::Name& name);
  /// Counts one name less in a directory, which may be unused after that.
  void leave(Node& parent);
  void leave_part(const Node& node);

  NodeId next_id_ = kRootId + 1;
  std::vector<ById::bucket_type> id_buckets_;  ///< declared before the indexes, which use them
  std::vector<ByIdentity::bucket_type> identity_buckets_;
  ById nodes_;
  ByIdentity current_;
  std::map<std::pair<NodeId, std::string>, NodeId> pending_;
  /// Identifies a part: the state of the archive, the key, and whether it is a group.
  using PartKey = std::tuple<const Archive*, std::string, bool>;
  static PartKey key_of(const ArchivePart& part) {
    return {part.archive.get(), part.entry.key, part.entry.is_group()};
  }
  /// Nodes of parts that keep an archive. Two nodes can have the same key: one was entered in this
  /// state of the archive, the other has moved on to it from an older state.
  std::multimap<PartKey, Node*> parts_;
  std::vector<NodeId> maybe_unused_;  ///< nodes that drop_unused() is to check
  Dropped dropped_;
};

}  // namespace bloscfs::fs
