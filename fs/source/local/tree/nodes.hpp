#pragma once
// The nodes that the kernel knows, by what is known of them without a look at SOURCE: their names,
// what is open of them, what the kernel was told.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/source/node.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors are std::system_error: ESTALE for ids that are not known (any more).
class Nodes {
 public:
  Nodes() = default;
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Counts another reference of the kernel.
  FoundNode reference(NodeId id, const struct stat& attributes);
  /// The directory that holds a node.
  NodeId parent(NodeId id) const;
  /// How often this mount has changed names of a directory, as long as the directory is known.
  std::uint32_t name_changes(NodeId directory) const;
  void forget(NodeId id, std::uint64_t references);
  /// Keeps a node although the kernel may forget it.
  void pin(NodeId id);
  void unpin(NodeId id);

  /// Path below SOURCE.
  SourcePath path(NodeId id) const;
  /// The same for messages, which also tell of nodes that have none.
  std::string told_path(NodeId id) const;
  /// False once the last name that is known of it has gone.
  bool has_name(NodeId id) const;

  /// The full name that a node has, or waits for, without a look at it. Of several it is the one
  /// seen last.
  struct NodeName {
    NodeId directory = kRootId;
    SourcePath directory_path;
    std::string full_name;
    ShownAs shown = ShownAs::itself;
    std::optional<std::string> waiting_as;  ///< the temporary that shall have the name
    bool is_lost = false;  ///< its directory has no name any more: the root stands for that
    SourcePath path() const { return join_path(directory_path, full_name); }
    bool is_same(const NodeName& other) const {
      return directory == other.directory && full_name == other.full_name &&
             waiting_as == other.waiting_as;
    }
  };
  /// nullopt for a node without a name.
  std::optional<NodeName> name_of(NodeId id) const;

  // --- what is open

  /// What is open of a node now, if anything.
  std::shared_ptr<const OpenFile> opened(NodeId id) const;
  /// The same; null where it is open as another kind of file.
  template <typename File>
  std::shared_ptr<const File> opened_as(NodeId id) const {
    return std::dynamic_pointer_cast<const File>(opened(id));
  }
  /// What all handles of the node share from now on: `file`, which was opened in the state that
  /// `entry` tells, unless somebody else came first who opened it as the same kind. ESTALE if the
  /// node is in another state by now. A part of an archive has no entry.
  template <typename File>
  std::shared_ptr<const File> share_opened(NodeId id, std::shared_ptr<const File> file,
                                           const SourceEntry& entry = {}) {
    return std::static_pointer_cast<const File>(share(id, std::move(file), entry));
  }
  /// The same for a file that nobody else knows yet.
  void set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file);

  /// True if size or times of a plain file, or of a container, are no longer those that its node
  /// had when the kernel was last told; they are taken over. ESTALE where one has become the other.
  bool take_change(NodeId id, const SourceEntry& entry);
  /// Around telling the kernel. False where somebody has begun since the last change. Until the end
  /// others find it changed as well: what the kernel asks meanwhile, it may not believe.
  bool begin_telling(NodeId id);
  void end_telling(NodeId id);
  /// Nobody gets what is open of the node any more, nor what the kernel has of it.
  void retire_opened(NodeId id, const OpenFile& file);
  /// A plain file stays one while it is being written, whatever its bytes look like meanwhile.
  /// ESTALE where it has become a container since it was looked at.
  void begin_plain_writing(NodeId id);
  void end_plain_writing(NodeId id);
  std::uint32_t plain_writers(NodeId id) const;
  /// A container was closed: it is shown so large from now on, if it has no name any more.
  void keep_last_size(NodeId id, std::int64_t size);

  // --- what archives hold

  /// The archive, which pins that node as long as it lives. Does not outlive this object.
  template <typename Kind>
  std::shared_ptr<const Kind> pinning(NodeId id, std::unique_ptr<const Kind> archive) {
    pin(id);
    return {archive.release(), [this, id](const Kind* ended) {
              delete ended;
              unpin(id);
            }};
  }

  /// Null for other nodes, and for ids that are not known.
  std::shared_ptr<const ArchivePart> part(NodeId id) const;
  bool is_part(NodeId id) const { return part(id) != nullptr; }
  /// Counts one reference of the kernel.
  NodeId enter_part(NodeId directory, const std::shared_ptr<const ArchivePart>& part);
  /// False, and nothing changes, where the node is not `before` any more, and where the kernel may
  /// have pages of another state than that of `part`.
  bool replace_part(NodeId id, const ArchivePart& before,
                    const std::shared_ptr<const ArchivePart>& part);
  /// Parts that are embedded below `root` keep no other state of it than that.
  void leave_states(NodeId root, const Archive* present);
  /// An embedded group has become that directory of SOURCE. ESTALE where that has a node already:
  /// the kernel looks for it again.
  void become_directory(NodeId id, const struct stat& st);

 protected:
  /// Locks the table. What is dropped meanwhile is destroyed after the lock is released.
  class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) DroppingLock {
   public:
    explicit DroppingLock(Nodes& nodes) BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(nodes.mutex_))
        : nodes_(nodes), lock_(nodes.mutex_) {}
    ~DroppingLock() BLOSCFS_THREAD_ATTRIBUTE(release_capability())
        BLOSCFS_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
      dropped_ = nodes_.nodes_.drop_unused();
    }

   private:
    Nodes& nodes_;
    NodeTable::Dropped dropped_;  ///< destroyed after lock_
    const MutexLock lock_;
  };

  /// What is needed to find a node's entry, taken out of the table.
  struct Known : OfKind {
    NodeId id = 0;
    std::vector<SourcePath> paths;
    Identity identity;
    FileState state;
    ShownChange shown_change;
    bool is_pending = false;
    std::shared_ptr<const SourceObject> made;
    std::shared_ptr<const OpenFile> open_file;
    std::shared_ptr<const SourceObject> remains;
    std::int64_t last_size = 0;
  };
  Known known(NodeId id) const;

  /// Another node that was known by that name, if its content leads a file that is not there any
  /// more: SOURCE has something else `there`, or nothing. 0 if there is none.
  NodeId overtaken_node(NodeId directory, const std::string& full_name,
                        const std::optional<Identity>& there);
  /// False if nothing is open of nodes that had a name in that directory.
  bool may_have_opened_in(NodeId directory) const;
  /// The node that stands for the object that is there; null if none does, or for another state.
  Node* node_of(const SourceEntry& entry, bool is_live) const REQUIRES(mutex_);
  /// A container that nobody has opened becomes what the entry says; false for any other node.
  bool follow(NodeId id, const SourceEntry& entry);
  /// Names of a directory are changed.
  void note_change(NodeId directory);
  /// What is open of a node, if anything; another thread may let go of it meanwhile.
  std::shared_ptr<const OpenFile> open_file(const Node& node) REQUIRES(mutex_);
  /// The node has an open file by that name.
  void note_opened(const Node& node) REQUIRES(mutex_);

  mutable Mutex mutex_{LockLevel::table};
  NodeTable nodes_ GUARDED_BY(mutex_);

 private:
  std::shared_ptr<const OpenFile> share(NodeId id, std::shared_ptr<const OpenFile> file,
                                        const SourceEntry& entry);

  /// Directory and full name of a node that something is or was open of, and the node. It may have
  /// lost the name since, and others may be open that had it, of files that were there before or
  /// after its own.
  using OpenedName = std::tuple<NodeId, std::string, NodeId>;
  std::set<OpenedName> opened_names_ GUARDED_BY(mutex_);
  std::size_t names_to_look_through_ GUARDED_BY(mutex_) = 64;
};

}  // namespace bloscfs::fs
