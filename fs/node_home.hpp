#pragma once
// The ContentHome of a node of the tree.

#include <memory>
#include <string>

#include "fs/content_home.hpp"
#include "fs/doomed_frames.hpp"
#include "fs/freed_names.hpp"
#include "fs/mount_lock.hpp"
#include "fs/source_root.hpp"
#include "fs/tree.hpp"
#include "fs/tree_changes.hpp"

namespace bloscfs::fs {

/// How full names are chosen.
struct NamingPolicy {
  bool raw = false;    ///< arrays are no NPY files
  std::string suffix;  ///< of new flat files
};

/// What all changes of names of a mount share.
struct NameServices {
  const SourceRoot& root;
  Tree& tree;
  NamingPolicy policy;
  MountLock* lock = nullptr;  ///< of a writable mount
  DoomedFrames doomed = {};
  FreedNames freed{root};
};

/// The first full name under which a container would be shown as asked; `previous` is its full name
/// until now, empty for a new one. Empty if there is none.
std::string choose_name(TreeChanges& names, NodeId directory, const std::string& shown_name,
                        ShownAs shown, const std::string& previous, const NamingPolicy& policy,
                        const TreeChanges::Ahead& ahead);

class NodeHome final : public ContentHome {
 public:
  NodeHome(NameServices& services, NodeId node);
  ~NodeHome() override;
  NodeHome(const NodeHome&) = delete;
  NodeHome& operator=(const NodeHome&) = delete;

  std::unique_ptr<NameLock> lock_name() override;

 private:
  class Lock;

  NameServices& services_;
  const NodeId node_;
};

}  // namespace bloscfs::fs
