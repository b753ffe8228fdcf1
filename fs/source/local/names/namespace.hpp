#pragma once
// Makes, renames and removes the files of a writable mount, and changes their attributes.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/contents.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/node_home.hpp"
#include "fs/source/local/names/renaming.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Thread-safe. Names are shown names. Errors are std::system_error: those of POSIX for each
/// operation, and
/// - EEXIST if the naming rules could not show the result under the name asked for,
/// - EPERM in the root of a mount of one container, and for hard links to sparse frames,
/// - EROFS in archives and stores, for protected columns of a table, and for a read-only container
///   (such as a Bloscpack file) that would need another representation under its new name.
///
/// A function that returns a FoundNode has counted one kernel reference to the node.
class Namespace {
 public:
  /// `source` is the path of SOURCE. `lock` and `rescue` are null unless the mount is writable. All
  /// arguments outlive this object.
  Namespace(const std::string& source, const SourceRoot& root, const ColumnPath& columns,
            Tree& tree, NamingPolicy policy, Contents& contents, const KernelCache& kernel,
            MountLock* lock, RescueFolder* rescue)
      : root_(root), tree_(tree), services_{source,   root,   columns, tree,  std::move(policy),
                                            contents, kernel, lock,    rescue} {}

  FoundNode create_file(Request& request, NodeId directory, const std::string& name, mode_t mode);
  FoundNode make_directory(Request& request, NodeId directory, const std::string& name,
                           mode_t mode);
  FoundNode make_symlink(Request& request, NodeId directory, const std::string& name,
                         const std::string& target);
  /// Makes a fifo, socket or device. Makes a regular file as create_file() does.
  FoundNode make_special(Request& request, NodeId directory, const std::string& name, mode_t mode,
                         dev_t device);
  FoundNode make_link(Request& request, NodeId node, NodeId directory, const std::string& name);
  void remove_file(Request& request, NodeId directory, const std::string& name);
  void remove_directory(Request& request, NodeId directory, const std::string& name);
  /// `flags` as in renameat2(2). Throws EINVAL for RENAME_WHITEOUT.
  void rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
              const std::string& to_name, unsigned flags);

  void set_attributes(Request& request, NodeId node, const NewAttributes& wanted, ChangedBy who);
  /// Calls `make` with the object whose attributes the node shows: for a sparse frame, its index
  /// file. The third argument describes the object by its name, and is null if it has none. The
  /// change does not count as a new state of the file.
  using ChangeObject = std::function<void(const Change&, const SourceObject&, const NamedObject*)>;
  void change(Request& request, NodeId node, ChangedBy who, const ChangeObject& make);
  /// Commits the files of the directory that are still stored under temporary names, then makes its
  /// entries durable.
  void sync_directory(Request& request, NodeId directory);

  /// The result keeps the node alive.
  std::shared_ptr<ContentHome> home(NodeId node);

 private:
  using MakeEntry = std::function<void(const Change&, const SourceDirectory& directory)>;

  void check_name(NodeId directory, const std::string& name) const;
  FoundNode make_entry(Request& request, NodeId directory, const std::string& name,
                       const MakeEntry& make);
  Need link(TreeChanges& names, const NamedObject& object, NodeId directory,
            const std::string& name, NodeId& made);
  FoundNode found(const Change& change, NodeId node);
  bool set_content_times(Request& request, NodeId node, const NewAttributes& wanted);
  /// `index` is the state of the index file before its attributes were changed.
  void set_frame_attributes(const Change& change, const SourceDirectory& frame,
                            const struct stat& index, const NewAttributes& wanted) const;
  void give_final_name(NamesWork& work, const WantedRename& wanted, const Renaming::FinalName& own);
  bool must_change_representation(Request& request, NodeId node);
  void notify_renamed(Request& request, const std::vector<NodeId>& nodes);

  const SourceRoot& root_;
  Tree& tree_;
  NameServices services_;
  KeyedMutex frames_{LockLevel::request};  ///< locked by set_attributes(), for each node
};

}  // namespace bloscfs::fs
