#pragma once
// The nodes that the kernel knows, or that something in the mount still needs: their names in
// SOURCE, who refers to them, and which files are still without the name that they shall have.

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

/// When somebody changed an object last, where its time of change in SOURCE tells when the daemon
/// did: that time cannot be set.
struct ShownChange {
  std::int64_t stored_ns = 0;  ///< what SOURCE says; another time there counts itself
  std::int64_t shown_ns = 0;
};

/// Most nodes are files that somebody has listed and nobody opened: what few have is in `Rare`.
struct Node : OfKind {
  /// An entry of a directory. Names are full names in SOURCE.
  struct Name {
    Node* parent = nullptr;
    std::string name;
    bool operator==(const Name&) const = default;
  };
  struct Rare {
    std::vector<Name> other_names;  ///< of hard links, the one seen longest ago first
    /// The name that it is shown by, before it has it in SOURCE: it is a temporary there.
    std::optional<std::string> wanted_name;
    /// The temporary since it was made, until its first commit or rename.
    std::shared_ptr<const SourceObject> made;
    /// What still has the wanted name in SOURCE, and shall give way to it.
    std::optional<frame::FileStamp> replaces;
    std::uint32_t plain_writers = 0;
    std::optional<std::string> link_text;         ///< of a symlink in the node's state, as stored
    std::shared_ptr<const SourceObject> remains;  ///< once it has no name
    /// Size of a container without a name, which is shown while nobody has it open.
    std::int64_t last_size = 0;
    std::vector<std::shared_ptr<void>> at_end;  ///< destroyed with the node
    /// Of a node that stands for no object of SOURCE, but for what an archive holds.
    std::shared_ptr<const ArchivePart> part;
    bool operator==(const Rare&) const = default;
  };
  using Hook = boost::intrusive::unordered_set_member_hook<>;

  const Rare& rare() const;
  Rare& make_rare();
  /// Gives the memory back once nothing rare is left.
  void trim_rare();
  bool has_name() const { return name.parent != nullptr; }

  std::uint32_t name_changes = 0;  ///< of a directory: changes that this mount made to its names
  Hook by_id;
  Hook by_identity;  ///< linked while the node stands for its object
  NodeId id = 0;
  std::uint64_t references = 0;  ///< the kernel's
  std::uint32_t pins = 0;        ///< ours
  std::uint32_t children = 0;    ///< names that other nodes have in this directory
  mode_t type = 0;
  ShownAs shown = ShownAs::itself;  ///< as its file is, also while a content of it is committed
  bool was_opened = false;     ///< the kernel may have pages of this state: an open of it succeeded
  bool is_untold = false;      ///< it got another state, whose size the kernel may miss
  bool is_being_told = false;  ///< the kernel learns it now
  Identity identity;
  FileState state;
  ShownChange shown_change;
  Name name;  ///< the one that was seen last; no parent once it is removed
  std::weak_ptr<const OpenFile> open_file;
  std::unique_ptr<Rare> rare_parts;
};

/// Not thread-safe: its owner's mutex guards it. Errors are std::system_error(ESTALE) for ids that
/// are not in use (any more) and for nodes without a name. A node that nobody needs any more stays
/// until drop_unused() is called.
class NodeTable {
 public:
  /// To be destroyed after the owner has released its mutex: what nodes own may take long to end.
  struct Dropped {
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<std::shared_ptr<const void>> others;
  };

  NodeTable();
  ~NodeTable();
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  /// Called before the owner releases its mutex.
  [[nodiscard]] Dropped drop_unused();
  /// Has drop_unused() return it, too.
  void drop(std::shared_ptr<const void> other) { dropped_.others.push_back(std::move(other)); }

  Node& node(NodeId id) const;
  Node* find(NodeId id) const;
  /// The node that stands for an object now; null if there is none.
  Node* current(const Identity& identity) const;

  /// A new node with one reference of the kernel, which from now on stands for the object.
  Node& add(Node& parent, const std::string& name, const Identity& identity);
  /// The node stands for another object from now on, and no other node does.
  void set_identity(Node& node, const Identity& identity);
  /// Its object is going away: the node stands for it no more.
  void retire(Node& node);

  /// Adds a name, or brings it to the front; directories have only one. The front name of a node
  /// that waits for its name is its temporary's, whatever else leads to that.
  void add_name(Node& node, Node& parent, const std::string& name);
  void remove_name(Node& node, Node& parent, const std::string& name);
  /// Path below SOURCE by the name that was seen last.
  SourcePath path(const Node& node) const;
  /// Paths by all names that are known, the last one first.
  std::vector<SourcePath> paths(const Node& node) const;

  // Parts of archives.

  /// The node of what is there already, or a new one, with one more reference of the kernel.
  Node& enter_part(Node& parent, const std::shared_ptr<const ArchivePart>& part);
  /// Null: it is an object of SOURCE from now on.
  void set_part(Node& node, std::shared_ptr<const ArchivePart> part);
  std::vector<Node*> parts() const;

  /// Takes back references of the kernel, or a pin.
  void forget(Node& node, std::uint64_t references);
  void unpin(Node& node);

  /// The node that is shown under a name of `directory` without having it in SOURCE.
  Node* pending(NodeId directory, const std::string& wanted_name) const;
  /// The node shall have that name in the directory that it is in.
  void set_pending(Node& node, const std::string& wanted_name);
  /// The node has its name now, or none.
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
  /// nullopt if a directory above has no name any more.
  static std::optional<std::string> text_by(const Node::Name& name);
  static std::optional<SourcePath> path_by(const Node& node, const Node::Name& name);
  void leave(Node& parent);
  void leave_part(const Node& node);

  NodeId next_id_ = kRootId + 1;
  std::vector<ById::bucket_type> id_buckets_;  ///< before the indexes, which use them
  std::vector<ByIdentity::bucket_type> identity_buckets_;
  ById nodes_;
  ByIdentity current_;
  std::map<std::pair<NodeId, std::string>, NodeId> pending_;
  /// What tells parts apart: the state of the archive, the key, whether it is a group.
  using PartKey = std::tuple<const Archive*, std::string, bool>;
  static PartKey key_of(const ArchivePart& part) {
    return {part.archive.get(), part.entry.key, part.entry.is_group()};
  }
  /// Those that keep an archive. A part that goes on to another state may come to one that has a
  /// node already.
  std::multimap<PartKey, Node*> parts_;
  std::vector<NodeId> maybe_unused_;
  Dropped dropped_;
};

}  // namespace bloscfs::fs
