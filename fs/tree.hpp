#pragma once
// Names to inodes: the nodes that the kernel knows, and the source entries behind them.
//
// A node is one state of one source object: hard links share it, and when a container's file has
// changed the next lookup makes a new node with a new id. Ids are never used again.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/stat.h>

#include "fs/classifier.hpp"
#include "fs/open_file.hpp"
#include "fs/sync.hpp"

namespace bloscfs::fs {

using NodeId = std::uint64_t;
inline constexpr NodeId kRootId = 1;

/// Overrides that mount options ask for.
struct OwnerOverride {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

/// Thread-safe. Errors are std::system_error: ENOENT, ESTALE where the node's object is gone or
/// another state of it has taken its place (the kernel then looks it up again).
class Tree {
 public:
  /// `single` is the full name of the only entry that is shown, for a mount of one container.
  Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
       OwnerOverride owner);
  ~Tree();

  struct Found {
    NodeId id = 0;
    struct stat attributes {};
  };
  /// The entry shown as `name`; counts one reference of the kernel. nullopt if there is none.
  std::optional<Found> lookup(NodeId directory, const std::string& name);
  /// The same by the entry's full name in SOURCE, as list() gives it.
  std::optional<Found> enter(NodeId directory, const std::string& full_name);
  /// Another reference to a known node, and the directory that holds a node.
  Found reference(NodeId id);
  NodeId parent(NodeId id) const;
  void forget(NodeId id, std::uint64_t references);

  struct stat attributes(NodeId id);

  /// Attributes with the owner that the mount options ask for.
  struct stat owned(struct stat st) const;

  /// True for the root of a mount of one container, which stands for no directory of SOURCE.
  bool is_virtual(NodeId id) const { return single_ && id == kRootId; }

  struct DirectoryEntry {
    std::string shown_name;
    std::string full_name;
    mode_t type = 0;  ///< S_IF*
    ino_t inode = 0;
  };
  std::vector<DirectoryEntry> list(NodeId directory);

  /// Path below SOURCE.
  std::string path(NodeId id) const;

  /// The entry behind a node. Once a node was opened it stands for one state, and ESTALE tells that
  /// this one is gone; until then it stands for what is there now.
  SourceEntry entry(NodeId id);
  /// True if a plain file's size or times are no longer those that its node last had; they are
  /// taken over, so that only the first caller is told.
  bool take_change(NodeId id, const SourceEntry& entry);
  /// What is open of a node now, if anything.
  std::shared_ptr<const OpenFile> opened(NodeId id) const;
  void set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file);

 private:
  struct Node;
  /// Tells one state of a source file from another; sframes are their index file's states.
  struct State {
    frame::FileStamp stamp;
    std::int64_t ctime_ns = 0;  ///< times can be set back, this one cannot
    bool operator==(const State&) const = default;
  };
  static State state_of(const SourceEntry& entry);
  struct Identity {
    std::uint64_t device, inode;
    bool operator==(const Identity&) const = default;
  };
  struct IdentityHash {
    std::size_t operator()(const Identity& id) const noexcept {
      return static_cast<std::size_t>(id.inode * 0x9E3779B97F4A7C15u ^ id.device);
    }
  };

  /// The entry of that full name, unless it is hidden or missing.
  std::optional<SourceEntry> visible_entry(const std::string& directory,
                                           const std::string& full_name);
  std::optional<ShownAs> probe(const std::string& directory, const std::string& full_name);
  std::optional<std::string> resolve(NodeId directory_id, const std::string& directory,
                                     const std::string& name);
  bool follow(NodeId id, const SourceEntry& entry) EXCLUDES(mutex_);
  Found adopt(NodeId directory, const std::string& full_name, const SourceEntry& entry);
  struct stat shown_attributes(const SourceEntry& entry) const;
  struct stat single_root_attributes();
  Node& node(NodeId id) const REQUIRES(mutex_);
  std::string path_of(const Node& node) const REQUIRES(mutex_);
  void drop_if_unused(Node& unused) REQUIRES(mutex_);

  const SourceRoot& root_;
  Classifier& classifier_;
  const std::optional<std::string> single_;
  const OwnerOverride owner_;
  mutable Mutex mutex_;
  NodeId next_id_ GUARDED_BY(mutex_) = kRootId + 1;
  std::unordered_map<NodeId, std::unique_ptr<Node>> nodes_ GUARDED_BY(mutex_);
  std::unordered_map<Identity, NodeId, IdentityHash> current_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
