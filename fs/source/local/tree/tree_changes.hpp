#pragma once
// The tree for an operation that has names locked: it looks at what has which name, and, if nobody
// else has the lock, changes names in SOURCE and tells the tree of that.

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

/// What has a name in the mount.
struct NamedObject {
  NodeId directory = 0;
  SourcePath directory_path;
  std::string full_name;    ///< as naming knows it
  std::string stored_name;  ///< what it is called in SOURCE: another than full_name while pending
  SourceEntry entry;
  NodeId node = 0;          ///< 0 if it has none
  bool is_pending = false;  ///< shown under a name that it does not have in SOURCE yet
  /// Pending: what has that name in SOURCE until the commit.
  std::optional<frame::FileStamp> replaces;

  SourcePath path() const {
    return {join_path(directory_path, stored_name), identity_of(entry.own_stat)};
  }
  /// Shown as one; a store is stored as a file.
  bool is_directory() const { return S_ISDIR(entry.shown_type()); }
};

/// True for a file with names beside this one: they would part if another file took its place.
bool has_links(const NamedObject& object);
/// Throws EOPNOTSUPP if it has.
void require_no_links(const NamedObject& object);

/// For whoever has names locked, alone or shared. Errors as the tree's.
class TreeLooks {
 public:
  NamesWork& work() const { return work_; }
  SourceDirectory directory(const SourcePath& path) const {
    return tree_.root_.directory(path, &work_);
  }
  SourceDirectory directory(NodeId id) const { return directory(tree_.path(id)); }
  /// Whether a file counts as the node's after another program has changed it.
  enum class State { same, any };
  /// What a node is by one of its names; nullopt when it has none, or something else has it.
  std::optional<NamedObject> object(NodeId id, State state = State::same);
  /// True for a directory of a store that is one itself.
  bool is_in_store(NodeId directory) const { return tree_.store_place(directory).has_value(); }
  /// How the names will differ from those of now after the change.
  struct AfterChange {
    std::vector<const NamedObject*> gone;  ///< null ones aside
    struct Arrival {
      NodeId directory;
      std::string full_name;
      ShownAs shown;
    };
    std::vector<Arrival> arrived = {};
  };
  /// True if a new entry could have that full name, and would be shown as asked without a change
  /// for any other.
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

/// Nobody changes names while one of these lives, and others look as well.
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

/// As whom SOURCE is changed.
enum class ChangedBy : std::uint8_t {
  caller,  ///< of the request
  daemon,  ///< whoever the request is of: by a commit, or for what nobody has asked for
};

/// Nobody else sees names, or changes any, while one of these lives: it must not wait for anything
/// but SOURCE. Errors as the tree's.
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

  /// For each change in SOURCE anew: ends what is known of names, and nothing calls the operation
  /// again. What others change takes effect by the system call that makes the change, which
  /// replaces nothing unseen.
  Change change() const {
    work_.begin_change();
    Request& request = work_.request();
    return changed_by_ == ChangedBy::daemon ? Change::by_daemon(request) : Change(request);
  }

  // --- looking

  std::optional<NamedObject> find(NodeId directory, const std::string& shown_name);
  /// True for what a store has in such a directory beside its leaves: its embed.b2e, a group's
  /// attributes. Others may have put the rest of what is hidden there.
  bool belongs_to_store(const NamedObject& directory, const std::string& name) const;
  /// What SOURCE has under a name for which a pending file is waiting.
  std::optional<NamedObject> stored(NodeId directory, const std::string& full_name);
  /// True if something is open of the node, or waits for a commit.
  bool is_open(NodeId node) const { return node != 0 && tree_.opened(node) != nullptr; }
  /// True if a node stands for the object.
  bool is_known(const struct stat& object) const;
  /// What is left of a node without names; throws ESTALE if nothing is.
  std::shared_ptr<const SourceObject> remains(NodeId node) const;
  /// True if the object under that full name would make its directory a sparse frame.
  bool makes_frame(const NamedObject& object, const std::string& full_name) const;
  /// The name that the mount shows it by.
  std::string shown_name(const NamedObject& object);
  /// True if the mount shows nothing in it.
  bool is_empty(const NamedObject& directory);
  std::vector<NodeId> pending_in(NodeId directory) const;

  // --- telling what has been done; each counts for all that follow

  /// Names of a directory have changed that no node has.
  void note_change(const struct stat& directory);
  /// A new entry is there; counts one reference of the kernel.
  NodeId entered(NodeId directory, const std::string& full_name);
  /// The same for a temporary that is shown as if it was called `wanted_name`.
  NodeId entered_pending(NodeId directory, const std::string& stored_name,
                         const std::string& wanted_name, const struct stat& file,
                         std::shared_ptr<const SourceObject> made);
  /// What a temporary waits for: to have that name, and to replace what has it now.
  struct Wait {
    std::string wanted_name;
    std::optional<frame::FileStamp> replaces;
  };
  /// The object has that name in SOURCE now. From now on it waits for another one, or for none.
  void moved(const NamedObject& object, NodeId directory, const std::string& stored_name,
             std::optional<Wait> wait = std::nullopt);
  /// Its name is gone, and it is `remains` without it if that was its last one. True if it was.
  bool removed(const NamedObject& object, std::shared_ptr<const SourceObject> remains);
  /// Its source file's attributes have been changed by us: that makes no other state of it.
  void touched(const NamedObject& object);
  /// Somebody has changed the object, or its names: this is its time of change, also when that has
  /// not been committed.
  void changed_by_user(NodeId id);
  /// The daemon's own doings have given a directory another time of change.
  void hid_change(NodeId directory, const timespec& before, const timespec& after);
  /// A name that it had in SOURCE is gone; its file may have others, and is in no other state.
  void link_lost(const NamedObject& object);
  /// What stands under that name now, in the same directory, is a new state of the object's node, a
  /// frame made by us: a commit.
  void replaced(const NamedObject& before, const std::string& stored_name,
                const SourceEntry& entry);
  /// The same after a commit to a container that leaves it what it is, under its name. False, and
  /// nothing changes, if what has the name is not the file of the stamp, of a sparse frame the
  /// index.
  bool rewritten(const NamedObject& object, const frame::FileStamp& stamp);
  /// What a content's node becomes when another program has changed its file: it stands for the
  /// frame `successor` under that name from now on; without one it has lost the name. False where
  /// the node has another name by now, or SOURCE has changed since it was looked at.
  struct Followed {
    bool is_own_file = false;  ///< the successor is the node's own object, changed in place
    bool is_taken = false;     ///< another node leads the successor, and has the name then
  };
  bool follow(NodeId id, const Tree::NodeName& name, const std::optional<SourceEntry>& successor,
              Followed& followed);
  /// Destroyed with the node; at the end of these changes where there is none (0).
  void at_end(NodeId id, std::shared_ptr<void> keeper);

 private:
  bool leads_to(const SourcePath& path, const std::optional<SourceEntry>& known) const;
  void move_name(const NamedObject& object, NodeId directory, const std::string& stored_name)
      REQUIRES(tree_.mutex_);
  bool gives_way(Node& node) REQUIRES(tree_.mutex_);
  void leave_name(Node& node) REQUIRES(tree_.mutex_);
  std::optional<SourceEntry> made_entry(const SourcePath& path) const;
  /// The entry is the node's new state.
  void take_made(NodeId id, NodeId directory, const SourceEntry& entry);
  /// What this mount has done to the node's object has made no other state of it.
  void take_state(Node& node) REQUIRES(tree_.mutex_);
  void take_entry(Node& node, const SourceEntry& entry) REQUIRES(tree_.mutex_);

  const ChangedBy changed_by_;
  std::vector<std::shared_ptr<void>> behind_;  ///< what takes long to end
};

}  // namespace bloscfs::fs
