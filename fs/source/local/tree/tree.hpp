#pragma once
// Names to inodes: the nodes that the kernel knows, and the source entries behind them.
//
// A node is one state of one source object: hard links share it, and when a container's file has
// changed the next lookup makes a new node with a new id. Ids are never used again. What the mount
// itself changes goes through TreeChanges and keeps its node, and a file with uncommitted changes
// is what its content says, whatever commits make of the source file meanwhile. Its time of change
// is, as its other times are, that of what somebody did to it, and at once: commits are no change,
// of neither the file nor its directory. SOURCE cannot be given this time, so that the node keeps
// it for as long as the kernel knows the node, and of a file the classifier behind that.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/options/owner_override.hpp"
#include "fs/source/local/tree/beside.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/listed_directories.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/names_lock.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors are std::system_error: ENOENT, ESTALE where the node's object is gone or
/// another state of it has taken its place (the kernel then looks it up again).
class Tree {
 public:
  /// `single` is the full name of the only entry that is shown, for a mount of one container.
  Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
       OwnerOverride owner);
  ~Tree();

  /// The entry shown as `name`; counts one reference of the kernel. nullopt if there is none.
  std::optional<FoundNode> lookup(NodeId directory, const std::string& name);
  /// The same for an entry of list().
  std::optional<FoundNode> enter(NodeId directory, const DirectoryEntry& entry);
  /// Another reference to a known node, and the directory that holds a node.
  FoundNode reference(NodeId id, const struct stat& attributes);
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

  /// True for a file that is shown as a directory, a store of python-blosc2, and for the root of a
  /// mount of one.
  bool is_store(NodeId id);
  /// Its file, and what that is now. ESTALE as of entry().
  SourcePath store_path(NodeId id) const;
  SourceEntry store_entry(NodeId id);

  /// True for the root of a mount of one container, which stands for no directory of SOURCE.
  bool is_virtual(NodeId id) const { return is_single_ && id == kRootId; }

  /// What stands beside the entries of stores that are directories; before the first request.
  void set_beside(Beside& beside) { beside_ = &beside; }
  /// True for a directory of a store that is one itself, and for what is in it.
  bool is_in_store(NodeId id) const;
  /// Nothing for a directory that is in none. ESTALE as of path().
  std::optional<StorePlace> store_place(NodeId directory) const;
  /// What is shown as `name` beside the entries of SOURCE, and hidden by none.
  std::optional<ArchiveEntry> find_beside(NodeId directory, const std::string& name);

  // Nodes of what archives hold. ESTALE for ids that are not known (any more).

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

  /// The name of the container of such a mount.
  std::optional<std::string> single() const;

  /// `if_many` as in SourceRoot::list(), and perhaps more than once. NoTurn where files have to be
  /// read.
  std::vector<DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many);

  /// Microseconds that names were locked at the longest.
  std::uint64_t longest_hold_of_names() const { return names_.longest_hold(); }

  /// The text of a symlink. A relative one that names, from where it is, a frame of SOURCE by its
  /// stored name and no shown entry is given with the name that is shown.
  std::string read_link(NodeId id);

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

  /// The entry behind a node. Once a node was opened it stands for one state, and ESTALE tells that
  /// this one is gone; until then it stands for what is there now.
  SourceEntry entry(NodeId id);
  /// The object whose mode, owner, times and extended attributes are the node's, also when it has
  /// no name any more.
  std::shared_ptr<const SourceObject> object(NodeId id);
  /// The same of an entry that was just found for it: of that, whatever has its name by now.
  std::shared_ptr<const SourceObject> object(NodeId id, const SourceEntry& entry);
  /// True if size or times of a plain file, or of a container, are no longer those that its node
  /// had when the kernel was last told; they are taken over. ESTALE where one has become the other.
  bool take_change(NodeId id, const SourceEntry& entry);
  /// Around telling the kernel. False where somebody has begun since the last change. Until the end
  /// others find it changed as well: what the kernel asks meanwhile, it may not believe.
  bool begin_telling(NodeId id);
  void end_telling(NodeId id);
  /// True while one of the node's names leads to its object, and while it has none. False for one
  /// that waits for a name that something else has got.
  bool is_in_place(NodeId id);
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
  /// What has a name now, judged by its bytes whoever has it open; nullopt where nothing has.
  std::optional<SourceEntry> successor(const NodeName& name);
  std::shared_ptr<const frame::Snapshot> open_container(const SourcePath& path,
                                                        const SourceEntry& entry) const {
    return classifier_.open(path, entry);
  }
  /// The same of an archive.
  std::unique_ptr<const Archive> open_archive(const SourcePath& path, const SourceEntry& entry,
                                              std::shared_ptr<MemoryBudget::Listing> charge) const {
    return classifier_.open_archive(path, entry, std::move(charge));
  }
  /// Nobody gets what is open of the node any more, nor what the kernel has of it.
  void retire_opened(NodeId id, const OpenFile& file);
  /// What to do about a node whose content was made of another state of SOURCE; called without any
  /// lock, and before anybody asks.
  using Follower = std::function<void(NodeId)>;
  void set_follower(Follower follower) { follower_ = std::move(follower); }
  /// The state of SOURCE's file; nullopt where the node's object is not there.
  std::optional<FileState> state_in_source(NodeId id);
  /// The state is the one that the node's content is in.
  void confirm_state(NodeId id, const FileState& state);

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

  /// What the node's content has just committed, by which its file is known again when the kernel
  /// has forgotten the node: neither what it is has to be read, nor does its time of change move.
  void remember_commit(NodeId id, const frame::Snapshot& snapshot);

  /// A plain file stays one while it is being written, whatever its bytes look like meanwhile.
  /// ESTALE where it has become a container since it was looked at.
  void begin_plain_writing(NodeId id);
  void end_plain_writing(NodeId id);
  bool has_plain_writers(NodeId id) const;
  bool is_last_plain_writer(NodeId id) const;
  /// A container was closed: it is shown so large from now on, if it has no name any more.
  void keep_last_size(NodeId id, std::int64_t size);

 private:
  friend class DirectoryChanges;
  friend class ReadTree;
  friend class TreeChanges;
  friend class TreeLooks;

  struct Adopted : FoundNode {
    std::optional<std::string> beside;  ///< full name of what no entry of SOURCE is: it has no id
  };

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

  /// What SOURCE's file says of a node.
  struct StoredAttributes {
    struct stat st {};
    bool is_outdated = false;  ///< as SourceEntry's
    bool is_led = false;       ///< the same
  };
  StoredAttributes look_at_attributes(NodeId id);

  /// What this mount is committing, has changed or has open for writing is never judged by reading
  /// it: its content says what it is. Everything else is the classifier's.
  std::optional<SourceEntry> look(const SourcePath& path) REQUIRES_SHARED(names_);
  /// The same of what is at hand, with what the classifier says of it.
  SourceEntry look_at(SourceEntry entry) REQUIRES_SHARED(names_);
  /// The same; throws where what it is could not be found out.
  std::optional<SourceEntry> look_whole(const SourcePath& path) REQUIRES_SHARED(names_);
  enum class Own { leading, any };
  /// What a found_entry() is, if it is the file of an open content: one that leads SOURCE's file,
  /// or any.
  std::optional<SourceEntry> own_entry(const SourceEntry& found, Own which) REQUIRES_SHARED(names_);
  /// The same for a temporary that waits for its name.
  std::optional<SourceEntry> waiting_entry(const SourcePath& path) const REQUIRES_SHARED(names_);
  /// The entry of that full name, unless it is missing or its name hides it; it may be left out.
  std::optional<SourceEntry> present_entry(NodeId directory, const SourcePath& path,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  /// The same of what the mount shows.
  std::optional<SourceEntry> visible_entry(NodeId directory, const SourcePath& path,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  /// What is known of it, for Classifier::read() where that is not enough.
  struct QuickLook {
    std::optional<SourceEntry> entry;
    bool is_unread = false;
  };
  QuickLook quick_look(NodeId directory, const SourcePath& path, const std::string& full_name)
      REQUIRES_SHARED(names_);
  bool is_hidden(NodeId directory, const SourcePath& path, const std::string& full_name)
      REQUIRES_SHARED(names_);
  std::optional<SourceEntry> pending_entry(NodeId directory, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// What stands beside, by full name, unless a file hides it.
  std::optional<ArchiveEntry> beside_entry(NodeId directory, const SourcePath& path,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  bool is_leaf_hidden(NodeId directory, const SourcePath& path, const std::string& key_name)
      REQUIRES_SHARED(names_);
  /// What has a full name is shown as, whether SOURCE has it or not.
  std::optional<ShownAs> shown_as(NodeId directory, const SourcePath& path,
                                  const std::string& full_name) REQUIRES_SHARED(names_);
  bool is_hidden_in_store(NodeId directory, const SourcePath& path, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// Found by what stands beside, now that names are not locked.
  std::optional<FoundNode> entered_beside(NodeId directory, const std::string& name,
                                          std::optional<Adopted> found);
  std::optional<std::string> resolve(NodeId directory, const SourcePath& path,
                                     const std::string& name) REQUIRES_SHARED(names_);
  /// Whose name that is, with what was seen of it; no entry for what stands beside.
  struct Shown {
    std::string full_name;
    std::optional<SourceEntry> entry;
  };
  std::optional<Shown> resolve_entry(NodeId directory, const SourcePath& path,
                                     const std::string& name) REQUIRES_SHARED(names_);
  /// What a listing tells of an entry; absent for one that is not shown.
  struct ListedEntry {
    ShownAs shown;
    mode_t type;
    ino_t inode;
  };
  using ListedEntries = std::unordered_map<std::string, ListedEntry>;
  struct UnreadName {
    std::string name;
    SourceEntry entry;
  };
  static ListedEntry listed_entry_of(const SourceEntry& entry);
  void read_all(const SourcePath& directory, std::vector<UnreadName>& unread, ListedEntries& seen);
  std::vector<std::string> names_in(NodeId directory, const SourcePath& path,
                                    const std::function<void()>& if_many);
  void see_all(NodeId directory, const SourcePath& path, std::span<const std::string> names,
               ListedEntries& seen) REQUIRES_SHARED(names_);
  /// `beside` as Beside::list() gives it.
  static std::vector<DirectoryEntry> entries_of(std::vector<std::string> present,
                                                const ListedEntries& seen, Beside::Listed beside);
  Beside::Listed list_beside(NodeId directory, const std::function<void()>& if_many);
  std::uint64_t changes_of(const ListedDirectories::Listing& listing);
  SourceEntry entry_of(const Known& known) REQUIRES_SHARED(names_);
  /// Whether the content that a name's file belonged to until now is told of the new one first.
  enum class First { owner, look };
  SourcePath path_to_look_in(NodeId directory) const REQUIRES_SHARED(names_);
  /// `seen` of an entry that was just looked at.
  std::optional<Adopted> adopt(NodeId directory, const SourcePath& directory_path,
                               const std::string& shown_name, const std::string& full_name,
                               First first, std::optional<SourceEntry> seen = std::nullopt)
      REQUIRES_SHARED(names_);
  std::optional<Adopted> adopt_shown(NodeId directory, const SourcePath& path,
                                     const std::string& shown_name, First first)
      REQUIRES_SHARED(names_);
  /// `look` finds an entry with names_ shared; again where the follower has seen to it meanwhile.
  template <typename Look>
  std::optional<Adopted> find_followed(const Look& look);
  FoundNode adopt_entry(NodeId directory, const std::string& full_name, const SourceEntry& entry)
      REQUIRES_SHARED(names_);
  StoredAttributes stored_attributes(const Known& known) REQUIRES_SHARED(names_);
  /// What a symlink holds. Read once: each reading may change the time of access in SOURCE, which
  /// a look at attributes must not do.
  std::string stored_link(const SourcePath& path, const struct stat& stored);
  static void forget_link(Node& node);
  /// The same as the mount gives it.
  std::string shown_link(const std::string& path, std::string text) REQUIRES_SHARED(names_);
  /// The directory that a text leads to; nullopt where that is none of SOURCE.
  std::optional<std::string> walk(std::string directory, std::string_view text)
      REQUIRES_SHARED(names_);
  bool is_shown_directory(const std::string& path) REQUIRES_SHARED(names_);
  /// The shown name of a frame whose stored name no entry of the directory is shown by.
  std::optional<std::string> shown_instead(const std::string& directory, const std::string& name)
      REQUIRES_SHARED(names_);
  struct stat with_link_size(struct stat st, const SourceEntry& entry, const std::string& path)
      REQUIRES_SHARED(names_);

  /// Another node that was known by that name, if its content leads a file that is not there any
  /// more: SOURCE has something else `there`, or nothing. 0 if there is none.
  NodeId overtaken_node(NodeId directory, const std::string& full_name,
                        const std::optional<Identity>& there);
  /// The same for a name that is shown, where SOURCE has nothing under the full name.
  NodeId lost_node(NodeId directory, const std::string& shown_name) REQUIRES_SHARED(names_);
  Adopted outdated(NodeId id, const std::optional<SourceEntry>& entry);
  bool is_name_taken(NodeId id) const REQUIRES_SHARED(names_);
  /// Stamp of what is there; that of a sparse frame is its index file's.
  std::optional<frame::FileStamp> stamp_at(const SourcePath& path) const REQUIRES_SHARED(names_);
  void note_opened(const Node& node) REQUIRES(mutex_);
  bool follow(NodeId id, const SourceEntry& entry);
  static SourceEntry entry_of_remains(const Known& known);
  /// The node that stands for the object that is there; null if none does, or for another state.
  Node* node_of(const SourceEntry& entry, bool is_live) const REQUIRES(mutex_);
  bool is_live(const SourceEntry& entry) const;
  struct stat with_live(StoredAttributes stored, NodeId id);
  static struct stat with_shown_change(struct stat st, const ShownChange& change);
  std::shared_ptr<const OpenFile> share(NodeId id, std::shared_ptr<const OpenFile> file,
                                        const SourceEntry& entry);
  struct stat single_root_attributes();
  void drop_parts();

  const SourceRoot& root_;
  Classifier& classifier_;
  Follower follower_;
  const bool is_single_;
  const OwnerOverride owner_;
  Beside* beside_ = nullptr;
  std::atomic<bool> has_store_directories_ = false;  ///< some node is, or was, one
  NamesLock names_;
  ListedDirectories listed_;
  mutable Mutex mutex_;
  std::optional<std::string> single_ GUARDED_BY(mutex_);
  NodeTable nodes_ GUARDED_BY(mutex_);
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
