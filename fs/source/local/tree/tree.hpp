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
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/options/owner_override.hpp"
#include "fs/source/local/tree/beside.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/names_lock.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/nodes.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors are std::system_error: ENOENT, ESTALE where the node's object is gone or
/// another state of it has taken its place (the kernel then looks it up again).
class Tree : public Nodes {
 public:
  /// `single` is the full name of the only entry that is shown, for a mount of one container.
  Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
       OwnerOverride owner);

  /// The entry shown as `name`; counts one reference of the kernel. nullopt if there is none.
  /// `listed_as`: the full name by which list() had it; null where it comes from no listing.
  std::optional<FoundNode> lookup(Request& request, NodeId directory, const std::string& name,
                                  const std::string* listed_as = nullptr);
  struct stat attributes(Request& request, NodeId id);
  /// What is shown of an entry whose file has no content that knows better.
  struct stat attributes_of(const SourceEntry& entry) const;

  /// Attributes with the owner that the mount options ask for.
  struct stat owned(struct stat st) const;

  /// True for a file that is shown as a directory, a store of python-blosc2, and for the root of a
  /// mount of one.
  bool is_store(NodeId id);
  /// Its file, and what that is now. ESTALE as of entry().
  SourcePath store_path(NodeId id) const;
  SourceEntry store_entry(Request& request, NodeId id);

  /// True for the root of a mount of one container, which stands for no directory of SOURCE.
  bool is_virtual(NodeId id) const { return is_single_ && id == kRootId; }

  /// What stands beside the entries of stores that are directories; before the first request.
  void set_beside(Beside& beside) { beside_ = &beside; }
  /// True for a directory of a store that is one itself, and for what is in it.
  bool is_in_store(NodeId id) const;
  /// Nothing for a directory that is in none. ESTALE as of path().
  std::optional<StorePlace> store_place(NodeId directory) const;
  /// What is shown as `name` beside the entries of SOURCE, and hidden by none.
  std::optional<ArchiveEntry> find_beside(Request& request, NodeId directory,
                                          const std::string& name);

  /// The name of the container of such a mount.
  std::optional<std::string> single() const;

  /// `if_many` as in SourceRoot::list(), and perhaps more than once. NoSlot where files have to be
  /// read.
  std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                  const IfMany& if_many);

  /// Microseconds that names were locked at the longest.
  std::uint64_t longest_hold_of_names() const { return names_.longest_hold(); }

  /// The text of a symlink. A relative one that names, from where it is, a frame of SOURCE by its
  /// stored name and no shown entry is given with the name that is shown.
  std::string read_link(Request& request, NodeId id);

  /// The entry behind a node. Once a node was opened it stands for one state, and ESTALE tells that
  /// this one is gone; until then it stands for what is there now.
  SourceEntry entry(Request& request, NodeId id);
  /// The object whose mode, owner, times and extended attributes are the node's, also when it has
  /// no name any more.
  std::shared_ptr<const SourceObject> object(NodeId id);
  /// The same of an entry that was just found for it: of that, whatever has its name by now.
  std::shared_ptr<const SourceObject> object(NodeId id, const SourceEntry& entry);
  /// True while one of the node's names leads to its object, and while it has none. False for one
  /// that waits for a name that something else has got.
  bool is_in_place(NodeId id);
  /// What has a name now, judged by its bytes whoever has it open; nullopt where nothing has.
  std::optional<SourceEntry> successor(Request& request, const NodeName& name);
  const Classifier& classifier() const { return classifier_; }
  /// What to do about a node whose content was made of another state of SOURCE; called without any
  /// lock, and before anybody asks.
  using Follower = std::function<void(Request&, NodeId)>;
  void set_follower(Follower follower) { follower_ = std::move(follower); }
  /// The state of SOURCE's file; nullopt where the node's object is not there.
  std::optional<FileState> state_in_source(NodeId id);
  /// The state is the one that the node's content is in.
  void confirm_state(NodeId id, const FileState& state);

  /// What the node's content has just committed, by which its file is known again when the kernel
  /// has forgotten the node: neither what it is has to be read, nor does its time of change move.
  void remember_commit(NodeId id, const frame::Snapshot& snapshot);

 private:
  friend class ReadTree;
  friend class TreeChanges;
  friend class TreeLooks;

  struct Adopted : FoundNode {
    Trust trust = Trust::file;
  };

  /// What SOURCE's file says of a node.
  struct StoredAttributes {
    struct stat st {};
    Trust trust = Trust::file;
  };
  StoredAttributes stored_attributes(Request& request, NodeId id);

  /// A directory, and where it is now.
  struct Directory {
    NodeId id;
    SourcePath path;
  };
  Directory directory(NodeId id) const { return {id, path(id)}; }

  enum class IfUnread { read, leave };
  /// What this mount is committing, has changed or has open for writing is never judged by reading
  /// it: its content says what it is. Everything else is the classifier's.
  std::optional<SourceEntry> look(NamesWork& work, const SourcePath& path,
                                  IfUnread if_unread = IfUnread::read) REQUIRES_SHARED(names_);
  /// The same of what is at hand, with what the classifier says of it.
  SourceEntry look_at(SourceEntry entry) REQUIRES_SHARED(names_);
  /// The same; throws where what it is could not be found out.
  std::optional<SourceEntry> look_whole(NamesWork& work, const SourcePath& path)
      REQUIRES_SHARED(names_);
  enum class Own { leading, any };
  /// What a found_entry() is, if it is the file of an open content: one that leads SOURCE's file,
  /// or any.
  std::optional<SourceEntry> own_entry(const SourceEntry& found, Own which) REQUIRES_SHARED(names_);
  /// The same for a temporary that waits for its name.
  std::optional<SourceEntry> waiting_entry(NamesWork& work, const SourcePath& path,
                                           const std::shared_ptr<const SourceObject>& made) const
      REQUIRES_SHARED(names_);
  /// The entry of that full name, unless it is missing or its name hides it; it may be left out.
  std::optional<SourceEntry> present_entry(NamesWork& work, const Directory& in,
                                           const std::string& full_name,
                                           IfUnread if_unread = IfUnread::read)
      REQUIRES_SHARED(names_);
  /// The same of what the mount shows.
  std::optional<SourceEntry> visible_entry(NamesWork& work, const Directory& in,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  bool is_hidden(NamesWork& work, const Directory& in, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// What stands beside, by full name, unless a file hides it.
  std::optional<ArchiveEntry> beside_entry(NamesWork& work, const Directory& in,
                                           const std::string& full_name) REQUIRES_SHARED(names_);
  bool is_leaf_hidden(NamesWork& work, const Directory& in, const std::string& key_name)
      REQUIRES_SHARED(names_);
  bool is_hidden_in_store(NamesWork& work, const Directory& in, const std::string& full_name)
      REQUIRES_SHARED(names_);
  /// The node of what find_beside() finds.
  std::optional<FoundNode> find_part_beside(Request& request, NodeId directory,
                                            const std::string& name);
  /// What is shown by a name, as it was seen for that; no entry for what stands beside.
  struct Shown {
    std::string full_name;
    std::optional<SourceEntry> entry;
  };
  std::optional<Shown> resolve(NamesWork& work, const Directory& in, const std::string& name)
      REQUIRES_SHARED(names_);
  /// What a listing tells of an entry; absent for one that is not shown.
  struct ListedEntry {
    explicit ListedEntry(const SourceEntry& entry)
        : shown(entry.shown), type(entry.shown_type()), inode(entry.own_stat.st_ino) {}
    ShownAs shown;
    mode_t type;
    ino_t inode;
  };
  using ListedEntries = std::unordered_map<std::string, ListedEntry>;
  std::optional<std::vector<std::string>> names_in(const Directory& in, const IfMany& if_many);
  void see_all(Request& request, NodeId directory, std::span<const std::string> names,
               ListedEntries& seen);
  /// `beside` as Beside::list() gives it.
  static std::vector<DirectoryEntry> entries_of(std::vector<std::string> present,
                                                const ListedEntries& seen, Beside::Listed beside);
  SourceEntry entry_of(NamesWork& work, const Known& known) REQUIRES_SHARED(names_);
  /// Whether the content that a name's file belonged to until now is told of the new one first.
  enum class First { owner, look };
  std::optional<Adopted> adopt(Request& request, NodeId directory, const std::string& name,
                               const std::string* listed_as, First first);
  /// `shown` has an entry.
  Adopted adopt_shown(NamesWork& work, const Directory& in, const std::string& shown_name,
                      const Shown& shown, First first) REQUIRES_SHARED(names_);
  FoundNode adopt_entry(NodeId directory, const std::string& full_name, const SourceEntry& entry)
      REQUIRES_SHARED(names_);
  /// What a symlink holds. Read once: each reading may change the time of access in SOURCE, which
  /// a look at attributes must not do.
  std::string stored_link(NamesWork& work, const SourcePath& path, const struct stat& stored);
  /// The same as the mount gives it.
  std::string shown_link(NamesWork& work, const std::string& path, std::string text)
      REQUIRES_SHARED(names_);
  /// The directory that a text leads to; nullopt where that is none of SOURCE.
  std::optional<std::string> walk(NamesWork& work, std::string directory, std::string_view text)
      REQUIRES_SHARED(names_);
  /// The shown name of a frame whose stored name no entry of the directory is shown by.
  std::optional<std::string> shown_instead(NamesWork& work, const std::string& directory,
                                           const std::string& name) REQUIRES_SHARED(names_);
  struct stat with_link_size(NamesWork& work, struct stat st, const SourceEntry& entry,
                             const std::string& path) REQUIRES_SHARED(names_);

  /// Another node that was known by a name that is shown, if its content leads and SOURCE has
  /// nothing under the full name.
  NodeId lost_node(OneLook& within, NodeId directory, const std::string& shown_name)
      REQUIRES_SHARED(names_);
  /// The first path that leads to the node's object.
  std::optional<SourcePath> place_of(OneLook& within, const Known& known) const
      REQUIRES_SHARED(names_);
  std::optional<FileState> state_of_known(const Known& known) const REQUIRES_SHARED(names_);
  bool is_name_taken(OneLook& within, NodeId id) const REQUIRES_SHARED(names_);
  static SourceEntry entry_of_remains(const Known& known);
  bool is_live(const SourceEntry& entry) const;
  struct stat with_live(Request& request, StoredAttributes stored, NodeId id);
  static struct stat with_shown_change(struct stat st, const ShownChange& change);
  /// What the container of such a mount is now; nullopt where it is gone.
  std::optional<SourceEntry> single_entry(Request& request);
  struct stat single_root_attributes(Request& request);

  const SourceRoot& root_;
  Classifier& classifier_;
  Follower follower_;
  const bool is_single_;
  const OwnerOverride owner_;
  Beside* beside_ = nullptr;
  std::atomic<bool> has_store_directories_ = false;  ///< some node is, or was, one
  NamesLock names_;
  std::optional<std::string> single_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
