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
  ~Nodes() { drop_parts(); }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Counts another reference of the kernel.
  FoundNode reference(NodeId id, const struct stat& attributes);
  /// The directory that holds a node.
  NodeId parent(NodeId id) const;
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
  /// What is known of a file without a look at it: its paths, also that which a new one is to get,
  /// and how it is shown.
  struct Called {
    std::vector<SourcePath> paths;
    ShownAs shown = ShownAs::itself;
  };
  Called called(NodeId id) const;

  /// The full name that a node has, or waits for. Of several it is the one seen last.
  struct NodeName {
    NodeId directory = kRootId;
    SourcePath directory_path;
    std::string full_name;
    std::optional<std::string> waiting_as;  ///< the temporary that shall have the name
    bool is_lost = false;  ///< its directory has no name any more: the root stands for that
    SourcePath path() const { return join_path(directory_path, full_name); }
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
  /// node is in another state by now.
  template <typename File>
  std::shared_ptr<const File> share_opened(NodeId id, std::shared_ptr<const File> file,
                                           const SourceEntry& entry) {
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
  bool has_plain_writers(NodeId id) const;
  bool is_last_plain_writer(NodeId id) const;
  /// A container was closed: it is shown so large from now on, if it has no name any more.
  void keep_last_size(NodeId id, std::int64_t size);

  // --- what archives hold

  /// Null for other nodes, and for ids that are not known.
  std::shared_ptr<const ArchivePart> part(NodeId id) const;
  bool is_part(NodeId id) const { return part(id) != nullptr; }
  /// Counts one reference of the kernel.
  NodeId enter_part(NodeId directory, const std::shared_ptr<const ArchivePart>& part);
  /// Without effect on what is no part any more.
  void set_part(NodeId id, const std::shared_ptr<const ArchivePart>& part);
  /// False where the kernel may have pages of the node's state.
  bool set_part_if_unopened(NodeId id, const std::shared_ptr<const ArchivePart>& part);
  /// As share_opened().
  std::shared_ptr<const OpenContainer> share_part(NodeId id,
                                                  const std::shared_ptr<const OpenContainer>& file);
  /// Parts that are embedded below `root` keep no other state of it than that.
  void leave_states(NodeId root, const Archive* present);
  /// An embedded group has become that directory of SOURCE.
  void become_directory(NodeId id, const struct stat& st);

 protected:
  /// What is needed to find a node's entry, taken out of the table.
  struct Known : OfKind {
    NodeId id = 0;
    std::vector<SourcePath> paths;
    Identity identity;
    FileState state;
    ShownChange shown_change;
    bool is_pending = false;
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
  /// The node has an open file by that name.
  void note_opened(const Node& node) REQUIRES(mutex_);

  mutable Mutex mutex_;
  NodeTable nodes_ GUARDED_BY(mutex_);

 private:
  std::shared_ptr<const OpenFile> share(NodeId id, std::shared_ptr<const OpenFile> file,
                                        const SourceEntry& entry);
  void drop_parts();

  /// A name of a node that something is or was open of. The node may have lost it since, and
  /// others may be open that had it, of files that were there before or after its own.
  struct OpenedName {
    NodeId directory;
    std::string full_name;
    NodeId node;
    bool operator<(const OpenedName& other) const {
      return std::tie(directory, full_name, node) <
             std::tie(other.directory, other.full_name, other.node);
    }
  };
  std::set<OpenedName> opened_names_ GUARDED_BY(mutex_);
  std::size_t names_to_look_through_ GUARDED_BY(mutex_) = 64;
};

}  // namespace bloscfs::fs
