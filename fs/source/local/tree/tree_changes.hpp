#pragma once
// The tree for an operation that holds the lock on names. The operation looks up which object has
// which name. If it holds the lock exclusively, it also changes names in SOURCE, and reports these
// changes to the tree.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// An object with a name in the mount.
struct NamedObject {
  NodeId directory = 0;
  SourcePath directory_path;
  std::string full_name;    ///< from which its shown name is made
  std::string stored_name;  ///< its name in SOURCE; differs from full_name while pending
  SourceEntry entry;
  NodeId node = 0;          ///< 0 if it has none
  bool is_pending = false;  ///< shown under a name that it does not have in SOURCE yet
  /// Pending: the state of the file that has full_name in SOURCE until the first commit.
  std::optional<frame::FileStamp> replaces;

  SourcePath path() const {
    return {join_path(directory_path, stored_name), identity_of(entry.own_stat)};
  }
  /// True if it is shown as a directory. So is a store, which is stored as a file.
  bool is_directory() const { return S_ISDIR(entry.shown_type()); }
};

/// True for a file with further names. If another file took its place under this name, the further
/// names would still lead to the old one.
bool has_links(const NamedObject& object);
/// Throws EOPNOTSUPP if the file has further names.
void require_no_links(const NamedObject& object);

/// Looks up names, for an operation that holds the lock on names, exclusively or shared. Throws the
/// tree's errors.
class TreeLooks {
 public:
  NamesWork& work() const { return work_; }
  SourceDirectory directory(const SourcePath& path) const {
    return tree_.root_.directory(path, &work_);
  }
  SourceDirectory directory(NodeId id) const { return directory(tree_.path(id)); }
  /// `any`: a file still counts as the node's after another program has changed it.
  enum class State { same, any };
  /// Returns the node's object by one of its names; nullopt if it has no name, or something else
  /// has its names.
  std::optional<NamedObject> object(NodeId id, State state = State::same);
  /// True for a store directory, and for a directory in it.
  bool is_in_store(NodeId directory) const { return tree_.store_place(directory).has_value(); }
  /// How the names after a change differ from the present ones.
  struct AfterChange {
    std::vector<const NamedObject*> gone;  ///< objects that give up their names; may hold nulls
    struct Arrival {
      NodeId directory;
      std::string full_name;
      ShownAs shown;
    };
    std::vector<Arrival> arrived = {};
  };
  /// True if a new entry could have that full name, and would be shown as `shown_name` without any
  /// other entry being shown differently.
  bool fits(NodeId directory, const std::string& shown_name, const std::string& full_name,
            ShownAs shown, const AfterChange& after_change);

 protected:
  TreeLooks(NamesWork& work, Tree& tree) : work_(work), tree_(tree) {}
  ~TreeLooks() = default;

  NamedObject describe(const Tree::Directory& in, const std::string& full_name,
                       const SourceEntry& entry, State state);

  NamesWork& work_;
  Tree& tree_;

 private:
  bool hides(const Tree::Directory& in, const std::string& full_name, ShownAs shown);
};

/// Shares the lock on names: names do not change while it lives, and other operations can look at
/// the same time.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) ReadTree final : public TreeLooks {
 public:
  ReadTree(NamesWork& work, Tree& tree)
      BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability(tree.names_))
      : TreeLooks(work, tree), names_(tree.names_, &work) {}
  ~ReadTree() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) = default;
  ReadTree(const ReadTree&) = delete;
  ReadTree& operator=(const ReadTree&) = delete;

 private:
  const ReadNames names_;
};

/// The user as whom the daemon changes SOURCE.
enum class ChangedBy : std::uint8_t {
  caller,  ///< the user of the request
  daemon,  ///< the daemon: for a commit, or for work that no user has asked for
};

/// Holds the lock on names exclusively: no other operation sees or changes names while it lives. So
/// it must not wait for anything but SOURCE. Throws the tree's errors.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) TreeChanges final : public TreeLooks {
 public:
  TreeChanges(NamesWork& work, Tree& tree, ChangedBy changed_by)
      BLOSCFS_THREAD_ATTRIBUTE(acquire_capability(tree.names_))
      : TreeLooks(work, tree), changed_by_(changed_by) {
    tree_.names_.lock();
    work.renew();
  }
  ~TreeChanges() BLOSCFS_THREAD_ATTRIBUTE(release_capability()) { tree_.names_.unlock(); }
  TreeChanges(const TreeChanges&) = delete;
  TreeChanges& operator=(const TreeChanges&) = delete;

  /// Must be called anew for each change in SOURCE, right before it. After it, earlier looks at
  /// names do not count any more, and the operation is not called again. If another program changes
  /// names after those looks, the system call of the change fails: it replaces nothing that the
  /// operation has not seen.
  Change change() const {
    work_.begin_change();
    Request& request = work_.request();
    return changed_by_ == ChangedBy::daemon ? Change::by_daemon(request) : Change(request);
  }

  // --- looking

  std::optional<NamedObject> find(NodeId directory, const std::string& shown_name);
  /// True for a file that a store keeps in the directory in addition to its leaves: embed.b2e, or
  /// the attributes of a group. False for hidden files that other programs may have put there.
  bool belongs_to_store(const NamedObject& directory, const std::string& name) const;
  /// Returns what SOURCE has under a name for which a pending file is waiting.
  std::optional<NamedObject> stored(NodeId directory, const std::string& full_name);
  /// True if the node has open handles, or changes that wait for a commit.
  bool is_open(NodeId node) const { return node != 0 && tree_.opened(node) != nullptr; }
  /// True if a node stands for the object.
  bool is_known(const struct stat& object) const;
  /// Returns the object of a node without names. Throws ESTALE if none is kept.
  std::shared_ptr<const SourceObject> remains(NodeId node) const;
  /// True if the object under that full name would make its directory a sparse frame.
  bool makes_frame(const NamedObject& object, const std::string& full_name) const;
  /// Returns the name that the mount shows the object by.
  std::string shown_name(const NamedObject& object);
  /// True if the mount shows nothing in the directory.
  bool is_empty(const NamedObject& directory);
  std::vector<NodeId> pending_in(NodeId directory) const;

  // --- reporting to the tree what has been done; all later looks see it

  /// Reports that a name in a directory has changed, if the name is not that of a node.
  void note_change(const struct stat& directory);
  /// Adds the node of a new entry, and counts one reference of the kernel.
  NodeId entered(NodeId directory, const std::string& full_name);
  /// Like entered(), for a temporary that is shown as if it was called `wanted_name`.
  NodeId entered_pending(NodeId directory, const std::string& stored_name,
                         const std::string& wanted_name, const struct stat& file,
                         std::shared_ptr<const SourceObject> made);
  /// What a temporary waits for: the name that it is to get, and the file that it is to replace
  /// there.
  struct Wait {
    std::string wanted_name;
    std::optional<frame::FileStamp> replaces;
  };
  /// Reports that the object has that name in SOURCE now. With `wait`, it waits for another name
  /// from now on.
  void moved(const NamedObject& object, NodeId directory, const std::string& stored_name,
             std::optional<Wait> wait = std::nullopt);
  /// Reports that the object's name is gone. Returns true if that was its last name; the node then
  /// keeps `remains` as its object.
  bool removed(const NamedObject& object, std::shared_ptr<const SourceObject> remains);
  /// Reports that this mount has changed attributes of the source file. The node goes on to stand
  /// for the file, with its new time of change.
  void touched(const NamedObject& object);
  /// Reports that a user has changed the object or its names. From now on the object's time of
  /// change is the present time, even before a commit.
  void changed_by_user(NodeId id);
  /// Reports that the daemon's own work has changed a directory's time of change, which is not to
  /// be shown.
  void note_hidden_change(NodeId directory, const timespec& before, const timespec& after);
  /// Reports that the object has lost a name in SOURCE. Its file may have other names, whose node
  /// goes on to stand for the file.
  void link_lost(const NamedObject& object);
  /// Reports a commit that has put a frame made by this mount under that name, in the same
  /// directory. The frame is the new state of the object's node.
  void replaced(const NamedObject& before, const std::string& stored_name,
                const SourceEntry& entry);
  /// Reports a commit that has left the container under its name. False, and nothing changes, if
  /// the name does not lead to the file of `stamp` (for a sparse frame, its index).
  bool rewritten(const NamedObject& object, const frame::FileStamp& stamp);
  /// Makes a content's node follow another program's change. From now on the node stands for the
  /// frame `successor` under that name; without a successor it loses the name. False if the node
  /// has another name by now, or if SOURCE has changed since the successor was looked at.
  struct Followed {
    bool is_own_file = false;  ///< the successor is the node's own object, changed in place
    bool is_taken = false;     ///< another node has the successor, and gets the name
  };
  bool follow(NodeId id, const Tree::NodeName& name, const std::optional<SourceEntry>& successor,
              Followed& followed);
  /// Keeps `keeper` until the node is destroyed; with id 0, until these changes end.
  void at_end(NodeId id, std::shared_ptr<void> keeper);

 private:
  bool leads_to(const SourcePath& path, const std::optional<SourceEntry>& known) const;
  void move_name(const NamedObject& object, NodeId directory, const std::string& stored_name)
      REQUIRES(tree_.mutex_);
  bool try_detach(Node& node) REQUIRES(tree_.mutex_);
  void leave_name(Node& node) REQUIRES(tree_.mutex_);
  std::optional<SourceEntry> made_entry(const SourcePath& path) const;
  /// Makes the entry the node's new state.
  void take_made(NodeId id, NodeId directory, const SourceEntry& entry);
  /// Updates the node's state after this mount has changed its object. Otherwise the change would
  /// count as another program's.
  void take_state(Node& node) REQUIRES(tree_.mutex_);
  void take_entry(Node& node, const SourceEntry& entry) REQUIRES(tree_.mutex_);

  const ChangedBy changed_by_;
  /// Destroyed after the lock is released, since destroying them may take long.
  std::vector<std::shared_ptr<void>> destroyed_unlocked_;
};

}  // namespace bloscfs::fs
