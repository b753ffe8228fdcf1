#pragma once
// What all changes of names of a mount share.

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

  /// That what was written to a node is stored first.
  Need commit(NamesWork& work, NodeId node) const {
    return {[this, &work, node] { contents.commit(work.request(), {node}); }, true};
  }
  /// That an array is a flat frame, and stays one until the end of the operation.
  Need hold_flat(NamesWork& work, NodeId node) const {
    return {[this, &work, node] { work.kept.push_back(contents.hold_flat(work.request(), node)); },
            true};
  }

  /// Of nodes that have lost their last name, unless they are found by another one.
  void tell_removed(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes)
      contents.removed(tree.opened_as<OpenContainer>(node),
                       [this, node] { return tree.has_name(node); });
  }
};

}  // namespace bloscfs::fs
