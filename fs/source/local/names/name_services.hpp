#pragma once
// What all changes of names of a mount share.

#include "fs/source/contents.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/source/local/names/protected_columns.hpp"
#include "fs/source/local/names/unsynced_names.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/services.hpp"

namespace bloscfs::fs {

struct NameServices {
  const SourceRoot& root;
  const ColumnPath& columns;  ///< the way to SOURCE
  Tree& tree;
  NamingPolicy policy;
  Contents& contents;
  const KernelCache& kernel;
  MountLock* lock = nullptr;       ///< of a writable mount
  RescueFolder* rescue = nullptr;  ///< the same, if it has one
  UnsyncedNames unsynced_names{root};

  /// What the lock file of SOURCE says; null where there is none.
  Journal* journal() const { return lock == nullptr ? nullptr : lock->journal(); }

  /// Of nodes that have lost their last name, unless they are found by another one.
  void tell_removed(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes)
      contents.removed(tree.opened_as<OpenContainer>(node),
                       [this, node] { return tree.has_name(node); });
  }
};

}  // namespace bloscfs::fs
