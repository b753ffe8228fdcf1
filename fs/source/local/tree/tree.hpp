#pragma once
// Maps names to inodes: finds the source entries behind the nodes that the kernel knows.
//
// A node stands for one state of one source object. Hard links share a node. If another program has
// changed a container that was opened, the next lookup makes a new node with a new id. Ids are
// never reused. The mount's own changes go through TreeChanges and keep the node. While a file has
// uncommitted changes, its content says what it is, even during a commit.
//
// The shown time of change is that of the last change by a user, like all other times. A commit
// counts as a change neither of the file nor of its directory. SOURCE cannot store this time. So
// the node keeps it while the kernel knows the node. After that the classifier keeps it for files.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/options/owner_override.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/embedded_entries.hpp"
#include "fs/source/local/tree/names_lock.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/nodes.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Looks up, lists and describes the entries of SOURCE. Thread-safe. Throws std::system_error:
/// ENOENT; ESTALE if the node's object is gone or another state of it has taken its place (the
/// kernel then looks it up again).
class Tree : public Nodes {
 public:
  /// `single` is the full name of the only entry that is shown, for a mount of one container.
  Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
       OwnerOverride owner);

  /// Returns the entry shown as `name`, and counts one reference of the kernel. nullopt if there is
  /// no such entry. `listed_as`: the full name by which list() returned it; null if it comes from
  /// no listing.
  std::optional<FoundNode> lookup(Request& request, NodeId directory, const std::string& name,
                                  const std::string* listed_as = nullptr);
  struct stat attributes(Request& request, NodeId id);
  /// Returns the attributes to show for an entry. Does not ask an open content, which may have a
  /// newer size and newer times.
  struct stat attributes_of(const SourceEntry& entry) const;

  /// Returns attributes with the owner that the mount options ask for.
  struct stat owned(struct stat st) const;

  /// True for a store file, which is shown as a directory, and for the root of a mount of one
  /// store.
  bool is_store(NodeId id);
  /// store_path() returns the path of the store's file, store_entry() the file's present entry.
  /// ESTALE as in entry().
  SourcePath store_path(NodeId id) const;
  SourceEntry store_entry(Request& request, NodeId id);

  /// True for the root of a mount of one container, which stands for no directory of SOURCE.
  bool is_virtual(NodeId id) const { return is_single_ && id == kRootId; }

  /// Sets where embedded entries of store directories are found. Called before the first request.
  void set_embedded(EmbeddedEntries& embedded) { embedded_ = &embedded; }
  /// True for a store directory, and for everything in it.
  bool is_in_store(NodeId id) const;
  /// Returns the store and group that a directory is; nullopt if it is in no store directory.
  /// ESTALE as in path().
  std::optional<StorePlace> store_place(NodeId directory) const;
  /// Returns the embedded entry shown as `name`; nullopt if there is none, or if a file hides it.
  std::optional<ArchiveEntry> find_embedded(Request& request, NodeId directory,
                                            const std::string& name);

  /// Returns the full name of the container in a mount of one container; nullopt in other mounts.
  std::optional<std::string> single() const;

  /// Lists a directory. For `on_many_entries` see Source::list(). Throws NoSlot if files have
  /// to be read.
  std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                  const OnManyEntries& on_many_entries);

  /// Returns the longest time that names were locked, in microseconds.
  std::uint64_t longest_hold_of_names() const { return names_.longest_hold(); }

  /// Returns the text of a symlink. If a relative text leads to a frame by its stored name, and to
  /// no shown entry, the result has the frame's shown name instead.
  std::string read_link(Request& request, NodeId id);

  /// Returns the entry behind a node. A node that was never opened stands for the present state.
  /// Once a container's node was opened, it stands for one state, and ESTALE says that this state
  /// is gone.
  SourceEntry entry(Request& request, NodeId id);
  /// Returns the object that has the node's mode, owner, times and extended attributes, even if it
  /// has no name any more.
  std::shared_ptr<const SourceObject> object(NodeId id);
  /// Like object(id), but starts from the entry just looked up, even if another file has taken its
  /// name.
  std::shared_ptr<const SourceObject> object(NodeId id, const SourceEntry& entry);
  /// True if one of the node's names leads to its object, or if the node has no name. False if the
  /// node waits for a name that something else has taken.
  bool is_in_place(NodeId id);
  /// Returns what has a name now, judged by its bytes even if this mount has it open; nullopt if
  /// nothing has the name.
  std::optional<SourceEntry> successor(Request& request, const NodeName& name);
  const Classifier& classifier() const { return classifier_; }
  /// Makes a node's content follow another program's change. Called without any lock. Set before
  /// the first request.
  using Follower = std::function<void(Request&, NodeId)>;
  void set_follower(Follower follower) { follower_ = std::move(follower); }
  /// Returns the state of SOURCE's file; nullopt if the node's object is not there.
  std::optional<FileState> state_in_source(NodeId id);
  /// Sets the node's state to `state`, which is that of its content. Does nothing if SOURCE is in
  /// another state by now.
  void confirm_state(NodeId id, const FileState& state);

  /// Remembers what the node's content has just committed, for the time after the kernel has
  /// forgotten the node. Then the file need not be read again, and its time of change does not
  /// move.
  void remember_commit(NodeId id, const frame::Snapshot& snapshot);

 private:
  friend class ReadTree;
  friend class TreeChanges;
  friend class TreeLooks;

  /// The node of a looked-up entry, and where its attributes come from.
  struct Adopted : FoundNode {
    EntryOrigin trust = EntryOrigin::file;
  };

  /// A node's attributes, and where they come from.
  struct StoredAttributes {
    struct stat st {};
    EntryOrigin trust = EntryOrigin::file;
  };
  StoredAttributes stored_attributes(Request& request, NodeId id);

  /// A directory, and its present path.
  struct Directory {
    NodeId id;
    SourcePath path;
  };
  Directory directory(NodeId id) const { return {id, path(id)}; }

  /// What look() does if it must read a file to judge it: reads it, or leaves the entry unread.
  enum class IfUnread { read, leave };
  /// Returns the entry at a path. A file that this mount is committing, has changed or has open for
  /// writing is never judged by its bytes: its content says what it is. The classifier judges
  /// everything else.
  std::optional<SourceEntry> look(NamesWork& work, const SourcePath& path,
                                  IfUnread if_unread = IfUnread::read) REQUIRES_SHARED(names_);
  /// Completes an entry that the classifier has judged, by what this mount's open content or plain
  /// writers of it know.
  SourceEntry look_at(SourceEntry entry) REQUIRES_SHARED(names_);
  /// Like look(), but throws if the entry could not be judged.
  std::optional<SourceEntry> look_or_throw(NamesWork& work, const SourcePath& path)
      REQUIRES_SHARED(names_);
  enum class Own { authoritative, any };
  /// Returns the entry as its open content describes it; nullopt if the entry has none. With
  /// Own::authoritative, only a content that is authoritative for its file counts. `found` is the
  /// result of found_entry().
  std::optional<SourceEntry> own_entry(const SourceEntry& found, Own which) REQUIRES_SHARED(names_);
  /// Returns the entry of a temporary that waits for its full name. `made` is the temporary if this
  /// mount has made it.
  std::optional<SourceEntry> pending_entry(NamesWork& work, const SourcePath& path,
                                           const std::shared_ptr<const SourceObject>& made) const
      REQUIRES_SHARED(names_);
  /// Returns the entry of that full name; nullopt if there is none, or if the mount hides files of
  /// that name. The result may be an entry that is left out.
  std::optional<SourceEntry> present_entry(NamesWork& work, const Directory& in,
                                           const std::string& full_name,
                                           IfUnread if_unread = IfUnread::read)
      REQUIRES_SHARED(names_);
  /// Like present_entry(), but without entries that are left out.
  std::optional<SourceEntry> visible_entry(NamesWork& work, const Directory& in,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  bool is_hidden(NamesWork& work, const Directory& in, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// Returns the embedded entry of that full name, unless a file hides it.
  std::optional<ArchiveEntry> embedded_entry(NamesWork& work, const Directory& in,
                                             const std::string& full_name) REQUIRES_SHARED(names_);
  /// True if a file of the directory hides the embedded leaf of that key.
  bool is_leaf_hidden(NamesWork& work, const Directory& in, const std::string& key_name)
      REQUIRES_SHARED(names_);
  /// True for a file that a store keeps for itself, such as embed.b2e.
  bool is_hidden_in_store(NamesWork& work, const Directory& in, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// Returns the node of the embedded entry that is shown as `name`; nullopt if there is none.
  std::optional<FoundNode> find_embedded_part(Request& request, NodeId directory,
                                              const std::string& name);
  /// What is shown by a name; no `entry` for an embedded leaf or group.
  struct Shown {
    std::string full_name;
    std::optional<SourceEntry> entry;
  };
  std::optional<Shown> resolve(NamesWork& work, const Directory& in, const std::string& name)
      REQUIRES_SHARED(names_);
  /// What a listing shows of an entry.
  struct ListedEntry {
    explicit ListedEntry(const SourceEntry& entry)
        : shown(entry.shown), type(entry.shown_type()), inode(entry.own_stat.st_ino) {}
    ShownAs shown;
    mode_t type;
    ino_t inode;
  };
  using ListedEntries = std::unordered_map<std::string, ListedEntry>;
  std::optional<std::vector<std::string>> names_in(const Directory& in,
                                                   const OnManyEntries& on_many_entries);
  /// Looks at the entries of these names, and adds those that are shown to `seen`.
  void see_all(Request& request, NodeId directory, std::span<const std::string> names,
               ListedEntries& seen);
  /// `embedded` is the result of EmbeddedEntries::list().
  static std::vector<DirectoryEntry> entries_of(std::vector<std::string> present,
                                                const ListedEntries& seen,
                                                EmbeddedEntries::Listed embedded);
  SourceEntry entry_of(NamesWork& work, const Known& known) REQUIRES_SHARED(names_);
  /// `owner`: adopt() first returns the node that has owned the name until now, if its content was
  /// overtaken, so that the content can follow. `look`: adopt() looks at SOURCE at once.
  enum class First { owner, look };
  std::optional<Adopted> adopt(Request& request, NodeId directory, const std::string& name,
                               const std::string* listed_as, First first);
  /// `shown.entry` is set.
  Adopted adopt_shown(NamesWork& work, const Directory& in, const std::string& shown_name,
                      const Shown& shown, First first) REQUIRES_SHARED(names_);
  FoundNode adopt_entry(NodeId directory, const std::string& full_name, const SourceEntry& entry)
      REQUIRES_SHARED(names_);
  /// Returns the stored text of a symlink. Reads it only once, since each read may change the time
  /// of access in SOURCE, which a look at attributes must not do.
  std::string stored_link(NamesWork& work, const SourcePath& path, const struct stat& stored);
  /// Returns a symlink's text as the mount shows it.
  std::string shown_link(NamesWork& work, const std::string& path, std::string text)
      REQUIRES_SHARED(names_);
  /// Returns the directory that a text leads to; nullopt if that is no directory of SOURCE.
  std::optional<std::string> walk(NamesWork& work, std::string directory, std::string_view text)
      REQUIRES_SHARED(names_);
  /// Returns the shown name of the frame stored as `name`; nullopt if there is none, or if an entry
  /// of the directory is shown as `name`.
  std::optional<std::string> shown_instead(NamesWork& work, const std::string& directory,
                                           const std::string& name) REQUIRES_SHARED(names_);
  /// Sets the size of a symlink to that of the text that the mount shows.
  struct stat with_link_size(NamesWork& work, struct stat st, const SourceEntry& entry,
                             const std::string& path) REQUIRES_SHARED(names_);

  /// Returns the node of an open file shown by that name, if its content is authoritative and
  /// SOURCE has nothing under its full name any more. 0 if there is none.
  NodeId lost_node(OneLook& within, NodeId directory, const std::string& shown_name)
      REQUIRES_SHARED(names_);
  /// Returns the first path that leads to the node's object.
  std::optional<SourcePath> place_of(OneLook& within, const Known& known) const
      REQUIRES_SHARED(names_);
  std::optional<FileState> state_of_known(const Known& known) const REQUIRES_SHARED(names_);
  bool is_name_taken(OneLook& within, NodeId id) const REQUIRES_SHARED(names_);
  static SourceEntry entry_of_remains(const Known& known);
  bool is_live(const SourceEntry& entry) const;
  /// Replaces size and times by those of the node's open content, if these count.
  struct stat with_open_attributes(Request& request, StoredAttributes stored, NodeId id);
  static struct stat with_shown_change(struct stat st, const ShownChange& change);
  /// Returns the present entry of a mount's only container; nullopt if it is gone.
  std::optional<SourceEntry> single_entry(Request& request);
  struct stat single_root_attributes(Request& request);

  const SourceRoot& root_;
  Classifier& classifier_;
  Follower follower_;
  const bool is_single_;
  const OwnerOverride owner_;
  EmbeddedEntries* embedded_ = nullptr;
  std::atomic<bool> has_store_directories_ = false;  ///< some node is, or was, a store directory
  NamesLock names_;
  std::optional<std::string> single_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
