#pragma once
// Names to inodes: the nodes that the kernel knows, and the source entries behind them.
//
// A node is one state of one source object: hard links share it, and when a container's file has
// changed the next lookup makes a new node with a new id. Ids are never used again. What the mount
// itself changes goes through TreeChanges and keeps its node, and a file with uncommitted changes
// is what its content says, whatever commits make of the source file meanwhile.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/stat.h>

#include "fs/classifier.hpp"
#include "fs/node_table.hpp"
#include "fs/open_file.hpp"
#include "fs/sync.hpp"

namespace bloscfs::fs {

/// The unit of st_blocks.
inline constexpr std::int64_t kStatBlock = 512;

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
    /// The name hangs on what else its directory holds, and may change with that.
    bool is_fallback = false;
  };
  /// The entry shown as `name`; counts one reference of the kernel. nullopt if there is none.
  std::optional<Found> lookup(NodeId directory, const std::string& name);
  struct DirectoryEntry {
    std::string shown_name;
    std::string full_name;
    mode_t type = 0;  ///< S_IF*
    ino_t inode = 0;
  };
  /// The same for an entry of list().
  std::optional<Found> enter(NodeId directory, const DirectoryEntry& entry);
  /// Another reference to a known node, and the directory that holds a node.
  Found reference(NodeId id);
  NodeId parent(NodeId id) const;
  void forget(NodeId id, std::uint64_t references);
  /// Keeps a node although the kernel may forget it.
  void pin(NodeId id);
  void unpin(NodeId id);

  struct stat attributes(NodeId id);
  /// What is shown of an entry whose file has no content that knows better.
  struct stat attributes_of(const SourceEntry& entry) const;

  /// Attributes with the owner that the mount options ask for.
  struct stat owned(struct stat st) const;

  /// True for the root of a mount of one container, which stands for no directory of SOURCE.
  bool is_virtual(NodeId id) const { return is_single_ && id == kRootId; }

  /// The name of the container of such a mount.
  std::optional<std::string> single() const;

  std::vector<DirectoryEntry> list(NodeId directory);

  /// Path below SOURCE.
  std::string path(NodeId id) const;

  /// The entry behind a node. Once a node was opened it stands for one state, and ESTALE tells that
  /// this one is gone; until then it stands for what is there now.
  SourceEntry entry(NodeId id);
  /// The object whose mode, owner, times and extended attributes are the node's, also when it has
  /// no name any more.
  std::shared_ptr<const SourceObject> object(NodeId id);
  /// True if size or times of a plain file, or of a container that was never open, are no longer
  /// those that its node had; they are taken over, so that only the first caller is told. That of
  /// a container is told until change_was_told().
  bool take_change(NodeId id, const SourceEntry& entry);
  void change_was_told(NodeId id);
  /// What is open of a node now, if anything.
  std::shared_ptr<const OpenFile> opened(NodeId id) const;
  /// What all handles of the node share from now on: `file`, which was opened in the state that
  /// `entry` tells, unless somebody else came first. ESTALE if the node is in another state by now.
  std::shared_ptr<const OpenFile> share_opened(NodeId id, std::shared_ptr<const OpenFile> file,
                                               const SourceEntry& entry);
  /// The same for a file that nobody else knows yet.
  void set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file);

  /// A plain file stays one while it is being written, whatever its bytes look like meanwhile.
  void begin_plain_writing(NodeId id);
  void end_plain_writing(NodeId id);
  bool has_plain_writers(NodeId id) const;
  bool is_last_plain_writer(NodeId id) const;

 private:
  friend class TreeChanges;

  /// What is needed to find a node's entry, taken out of the table.
  struct Known {
    NodeId id = 0;
    std::vector<std::string> paths;
    Identity identity;
    FileState state;
    bool is_container = false;
    bool is_sframe = false;
    bool is_pending = false;
    std::shared_ptr<const OpenFile> open_file;
    std::shared_ptr<const SourceObject> remains;
  };
  Known known(NodeId id) const;

  // Whoever calls these holds names_.
  std::optional<SourceEntry> look(const std::string& path);
  /// The entry of that full name, unless it is hidden or missing.
  std::optional<SourceEntry> visible_entry(NodeId directory, const std::string& path,
                                           const std::string& full_name);
  std::optional<SourceEntry> pending_entry(NodeId directory, const std::string& full_name);
  std::optional<std::string> resolve(NodeId directory, const std::string& path,
                                     const std::string& name);
  /// What a listing tells of an entry; absent for one that is not shown.
  struct Sight {
    ShownAs shown;
    mode_t type;
    ino_t inode;
  };
  using Sights = std::unordered_map<std::string, Sight>;
  std::optional<Sight> see(NodeId directory, const std::string& full_name);
  std::vector<std::string> names_in(NodeId directory);
  std::vector<DirectoryEntry> entries_of(NodeId directory, std::vector<std::string> present,
                                         const Sights& seen);
  SourceEntry entry_of(const Known& known);
  std::optional<Found> adopt(NodeId directory, const std::string& shown_name,
                             const std::string& full_name);
  Found adopt_entry(NodeId directory, const std::string& full_name, const SourceEntry& entry);
  struct stat stored_attributes(const Known& known);

  bool follow(NodeId id, const SourceEntry& entry);
  static SourceEntry entry_of_remains(const Known& known);
  /// The node that stands for the object that is there; null if none does, or for another state.
  Node* node_of(const SourceEntry& entry, bool is_live) const REQUIRES(mutex_);
  bool is_live(const SourceEntry& entry) const;
  struct stat with_live(struct stat st, NodeId id);
  /// The file that a node is open as, if it has a content; else null.
  std::shared_ptr<const OpenFile> file_with_content(NodeId id) const;
  bool has_name(NodeId id) const;
  struct stat single_root_attributes();

  const SourceRoot& root_;
  Classifier& classifier_;
  const bool is_single_;
  const OwnerOverride owner_;
  /// Held alone while names in SOURCE change, so that whoever shares it sees them all before that
  /// or all behind it. Taken before mutex_.
  SharedMutex names_;
  mutable Mutex mutex_;
  std::optional<std::string> single_ GUARDED_BY(mutex_);
  NodeTable nodes_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
