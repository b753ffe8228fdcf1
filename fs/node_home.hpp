#pragma once
// The ContentHome of a node of the tree.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/content_home.hpp"
#include "fs/contents.hpp"
#include "fs/doomed_frames.hpp"
#include "fs/freed_names.hpp"
#include "fs/mount_lock.hpp"
#include "fs/source_root.hpp"
#include "fs/surroundings.hpp"
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
  const Surroundings& surroundings;
  Tree& tree;
  NamingPolicy policy;
  MountLock* lock = nullptr;     ///< of a writable mount
  Contents* contents = nullptr;  ///< of a writable mount
  DoomedFrames doomed = {};
  FreedNames freed{root};
  /// As ContentHome's; attributes are forgotten, too.
  std::function<void(NodeId, std::function<void()> done)> forget_pages =
      [](NodeId, const std::function<void()>& done) { done(); };
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
  std::string path() override;
  bool is_in_place() override { return services_.tree.is_in_place(node_); }
  std::unique_ptr<Refuge> conflict_refuge(ShownAs shown, uid_t user) override;
  std::unique_ptr<Refuge> recovery_refuge(ShownAs shown, uid_t user) override;
  void require_finished() override;
  Following follow() override;
  void forget_pages(std::function<void()> done) override {
    services_.forget_pages(node_, std::move(done));
  }
  void before_values_change() override;
  void require_changeable() override;

 private:
  class Lock;

  std::optional<SourceEntry> finished_successor(const Tree::NodeName& name) const;
  void remove_waiting(const Tree::NodeName& name) const;
  std::shared_ptr<const frame::Snapshot> open_successor(const SourcePath& path,
                                                        const SourceEntry& seen) const;

  NameServices& services_;
  const NodeId node_;
};

}  // namespace bloscfs::fs
