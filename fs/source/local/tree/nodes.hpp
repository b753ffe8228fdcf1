#pragma once
// The nodes that the kernel knows, and what is known of them without a look at SOURCE: their names,
// their open files, and what the kernel was notified of.

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

/// A NodeTable with a lock, and the open files of its nodes. Thread-safe. Throws std::system_error:
/// ESTALE for ids that are not known (any more).
class Nodes {
 public:
  Nodes() = default;
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Counts another reference of the kernel.
  FoundNode reference(NodeId id, const struct stat& attributes);
  /// Returns the directory that holds a node.
  NodeId parent(NodeId id) const;
  /// Returns how often this mount has changed names in a directory; 0 if the directory is not
  /// known.
  std::uint32_t name_changes(NodeId directory) const;
  void forget(NodeId id, std::uint64_t references);
  /// Keeps a node even if the kernel forgets it.
  void pin(NodeId id);
  void unpin(NodeId id);

  /// Returns the path below SOURCE.
  SourcePath path(NodeId id) const;
  /// Returns the path for messages, or a description if the node has no name.
  std::string display_path(NodeId id) const;
  /// False once the node's last known name is gone.
  bool has_name(NodeId id) const;

  /// The full name that a node has or waits for, found without a look at SOURCE. Of several names
  /// it is the one seen last.
  struct NodeName {
    NodeId directory = kRootId;
    SourcePath directory_path;
    std::string full_name;
    ShownAs shown = ShownAs::itself;
    std::optional<std::string> pending_stored_name;  ///< the temporary that waits for the name
    bool is_lost = false;  ///< its directory has no name any more; `directory` is the root then
    SourcePath path() const { return join_path(directory_path, full_name); }
    bool is_same(const NodeName& other) const {
      return directory == other.directory && full_name == other.full_name &&
             pending_stored_name == other.pending_stored_name;
    }
  };
  /// Returns nullopt for a node without a name.
  std::optional<NodeName> name_of(NodeId id) const;

  // --- what is open

  /// Returns the node's open file. Null if it is not open, or if the node is gone: a commit that
  /// ends may drop a removed node at any time.
  std::shared_ptr<const OpenFile> opened(NodeId id) const;
  /// Like opened(), but null if the node is open as another kind of file.
  template <typename File>
  std::shared_ptr<const File> opened_as(NodeId id) const {
    return std::dynamic_pointer_cast<const File>(opened(id));
  }
  /// Sets the open file that all handles of the node share, and returns it. `file` was opened in
  /// the state of `entry`. If another thread has opened the node first, as the same kind of file,
  /// returns that thread's file. ESTALE if the node is in another state by now. A part of an
  /// archive has no entry.
  template <typename File>
  std::shared_ptr<const File> share_opened(NodeId id, std::shared_ptr<const File> file,
                                           const SourceEntry& entry = {}) {
    return std::static_pointer_cast<const File>(share(id, std::move(file), entry));
  }
  /// Sets the open file of a new node, which no other thread knows yet.
  void set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file);

  /// Must be called when a file is opened. True if its size or times have changed since the kernel
  /// was last notified, or if the kernel is being notified now. Takes over the new state of a plain
  /// file. ESTALE if a plain file has become a container, or a container a plain file.
  bool take_change(NodeId id, const SourceEntry& entry);
  /// Must be called around notifying the kernel of a change. begin_notifying_kernel() returns false
  /// if another caller has begun since the last change. Until end_notifying_kernel(), take_change()
  /// returns true: the kernel may discard attributes that it reads during the notification.
  bool begin_notifying_kernel(NodeId id);
  void end_notifying_kernel(NodeId id);
  /// Detaches the open file from the node. The next open has the kernel drop its cached pages.
  void retire_opened(NodeId id, const OpenFile& file);
  /// Counts a writer of a plain file. The file stays plain while it has writers, whatever its bytes
  /// look like. ESTALE if it has become a container since it was looked at.
  void begin_plain_writing(NodeId id);
  void end_plain_writing(NodeId id);
  std::uint32_t plain_writers(NodeId id) const;
  /// Must be called when a container is closed. If it has no name any more, `size` is shown from
  /// now on.
  void keep_last_size(NodeId id, std::int64_t size);

  // --- what archives hold

  /// Returns the archive, which pins the node as long as it lives. Must not outlive this object.
  template <typename Kind>
  std::shared_ptr<const Kind> pinning(NodeId id, std::unique_ptr<const Kind> archive) {
    pin(id);
    return {archive.release(), [this, id](const Kind* ended) {
              delete ended;
              unpin(id);
            }};
  }

  /// Returns the node's part of an archive; null for other nodes and unknown ids.
  std::shared_ptr<const ArchivePart> part(NodeId id) const;
  bool is_part(NodeId id) const { return part(id) != nullptr; }
  /// Returns the part's node, and counts one reference of the kernel.
  NodeId enter_part(NodeId directory, const std::shared_ptr<const ArchivePart>& part);
  /// Replaces the node's part. False, and nothing changes, if its part is not `before` any more, or
  /// if the kernel may have pages of another state than that of `part`.
  bool replace_part(NodeId id, const ArchivePart& before,
                    const std::shared_ptr<const ArchivePart>& part);
  /// Makes all parts that are embedded below `root` release the archives of states other than
  /// `present`.
  void release_other_states(NodeId root, const Archive* present);
  /// Makes the node of an embedded group stand for a directory of SOURCE. ESTALE if the directory
  /// has a node already: then the kernel looks it up again.
  void become_directory(NodeId id, const struct stat& st);

 protected:
  /// Locks the table. Nodes that are dropped under the lock are destroyed after its release.
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

  /// What is needed to find a node's entry, copied out of the table.
  struct Known : EntryKindBase {
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

  /// Returns the node that is open by that name, if its content is authoritative and SOURCE does
  /// not have the node's object under the name. `there` is the object that SOURCE has there;
  /// nullopt if it has none. 0 if there is no such node.
  NodeId overtaken_node(NodeId directory, const std::string& full_name,
                        const std::optional<Identity>& there);
  /// False if no node that had a name in that directory is open.
  bool may_have_opened_in(NodeId directory) const;
  /// Returns the node that stands for the entry's object. Null if none does, or if the node stands
  /// for another state of it and `is_live` is false.
  Node* node_of(const SourceEntry& entry, bool is_live) const REQUIRES(mutex_);
  /// Makes the node of a container that was never opened stand for the entry's state. Returns false
  /// for any other node.
  bool follow(NodeId id, const SourceEntry& entry);
  /// Counts a change of names in a directory.
  void note_change(NodeId directory);
  /// Returns the node's open file, if any. The file is kept until mutex_ is released, so that it is
  /// not destroyed under the mutex if another thread lets go of it.
  std::shared_ptr<const OpenFile> open_file(const Node& node) REQUIRES(mutex_);
  /// Notes the name by which the node is open.
  void note_opened(const Node& node) REQUIRES(mutex_);

  mutable Mutex mutex_{LockLevel::table};
  NodeTable nodes_ GUARDED_BY(mutex_);

 private:
  std::shared_ptr<const OpenFile> share(NodeId id, std::shared_ptr<const OpenFile> file,
                                        const SourceEntry& entry);

  /// Directory and full name of a node that is or was open, and the node. The node may have lost
  /// the name since. Other nodes may be open by the same name, for files that had it before or
  /// after.
  using OpenedName = std::tuple<NodeId, std::string, NodeId>;
  std::set<OpenedName> opened_names_ GUARDED_BY(mutex_);
  /// Size of opened_names_ at which names of closed nodes are dropped.
  std::size_t names_prune_limit_ GUARDED_BY(mutex_) = 64;
};

}  // namespace bloscfs::fs
