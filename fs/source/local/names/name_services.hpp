#pragma once
// The objects of a mount that all changes of names use.

#include "fs/source/contents.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/source/local/names/protected_columns.hpp"
#include "fs/source/local/names/unsynced_names.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/services.hpp"

namespace bloscfs::fs {

struct NameServices {
  const std::string& source;  ///< the path of SOURCE
  const SourceRoot& root;
  const ColumnPath& columns;  ///< made from the path of SOURCE
  Tree& tree;
  NamingPolicy policy;
  Contents& contents;
  const KernelCache& kernel;
  MountLock* lock = nullptr;       ///< null unless the mount is writable
  RescueFolder* rescue = nullptr;  ///< null if there is no rescue folder
  UnsyncedNames unsynced_names{root};

  /// The journal in SOURCE's lock file; null if there is none.
  Journal* journal() const { return lock == nullptr ? nullptr : lock->journal(); }

  /// Returns the need to commit the data written to a node.
  Need commit(NamesWork& work, NodeId node) const {
    return {[this, &work, node] { contents.commit(work.request(), {node}); }, true};
  }
  /// Returns the need to turn an array into a flat frame. It stays flat until the operation ends.
  Need force_flat(NamesWork& work, NodeId node) const {
    return {[this, &work, node] { work.kept.push_back(contents.force_flat(work.request(), node)); },
            true};
  }

  /// Notifies the contents of nodes that have lost their last name. A content ignores this if its
  /// node has another name by then.
  void notify_removed(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes)
      contents.removed(tree.opened_as<OpenContainer>(node),
                       [this, node] { return tree.has_name(node); });
  }
};

}  // namespace bloscfs::fs
