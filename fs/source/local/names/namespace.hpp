#pragma once
// Makes, names, moves, removes and describes the files of a writable mount.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/caller.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/node_home.hpp"
#include "fs/source/local/names/renaming.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/keyed_mutex.hpp"

namespace bloscfs::fs {

/// Thread-safe. Names are shown names. Errors are std::system_error: those of POSIX for each
/// operation, and
/// - EEXIST where the naming rules could not show the result as asked,
/// - EPERM in the root of a mount of one container, and for hard links to sparse frames,
/// - EROFS for new contents while there is nobody to keep them, and for another view of a Bloscpack
///   file.
/// What returns a FoundNode has counted one reference of the kernel. What a caller asks for is
/// done as them (fs/source/local/files/on_behalf.hpp); a null one is the daemon itself.
class Namespace {
 public:
  /// `lock` and `rescue` are those of a writable mount, and null otherwise. All others outlive it.
  Namespace(const SourceRoot& root, const ColumnPath& columns, Tree& tree, NamingPolicy policy,
            Contents& contents, const KernelCache& kernel, MountLock* lock, RescueFolder* rescue)
      : root_(root), tree_(tree), services_{root,     columns, tree, std::move(policy),
                                            contents, kernel,  lock, rescue} {}

  FoundNode create_file(NodeId directory, const std::string& name, mode_t mode,
                        const Caller& caller);
  FoundNode make_directory(NodeId directory, const std::string& name, mode_t mode,
                           const Caller& caller);
  FoundNode make_symlink(NodeId directory, const std::string& name, const std::string& target,
                         const Caller& caller);
  /// A fifo, socket or device; a regular file is created as by create_file().
  FoundNode make_special(NodeId directory, const std::string& name, mode_t mode, dev_t device,
                         const Caller& caller);
  FoundNode make_link(NodeId node, NodeId directory, const std::string& name, const Caller& caller);
  void remove_file(NodeId directory, const std::string& name, const Caller& caller);
  void remove_directory(NodeId directory, const std::string& name, const Caller& caller);
  /// `flags` as in renameat2(2); RENAME_WHITEOUT is EINVAL.
  void rename(NodeId from, const std::string& from_name, NodeId to, const std::string& to_name,
              unsigned flags, const Caller& caller);

  void set_attributes(NodeId node, const NewAttributes& wanted, const Caller* caller);
  /// Changes the object whose attributes are the node's, so that this counts as no other state;
  /// `work` gets its name, too, if it has one.
  using Change = std::function<void(const SourceObject&, const NamedObject*)>;
  void change(NodeId node, const Caller* caller, const Change& work);
  /// Commits files that are waiting for their names in the directory, and makes its entries
  /// durable.
  void sync_directory(NodeId directory);

  /// Keeps the node as long as it lives.
  std::shared_ptr<ContentHome> home(NodeId node);

 private:
  using MakeEntry = std::function<void(const SourceDirectory& directory)>;

  void check_name(NodeId directory, const std::string& name) const;
  FoundNode make_entry(NodeId directory, const std::string& name, const Caller& caller,
                       const MakeEntry& make);
  NodeId link(TreeChanges& names, const NamedObject& object, NodeId directory,
              const std::string& name, const Caller& caller);
  FoundNode found(NodeId node);
  bool set_content_times(NodeId node, const NewAttributes& wanted);
  /// `index` is as it was before its attributes were changed.
  void set_frame_attributes(const SourceDirectory& frame, const struct stat& index,
                            const NewAttributes& wanted) const;
  void give_own_name(const RenameRequest& request, const Renaming::OwnName& own);
  bool must_represent_anew(NodeId node);
  void tell_renamed(const std::vector<NodeId>& nodes);

  const SourceRoot& root_;
  Tree& tree_;
  NameServices services_;
  KeyedMutex frames_;  ///< whose chunk files get other attributes, by node
};

}  // namespace bloscfs::fs
