#pragma once
// The ContentHome of a node of the tree.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/content/content_home.hpp"
#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/names/node_takeover.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

class NodeHome final : public ContentHome {
 public:
  NodeHome(NameServices& services, NodeId node);
  ~NodeHome() override;

  std::string path() override;
  std::unique_ptr<NameLock> lock_name(Request& request) override;
  std::unique_ptr<NameLock> lock_to_replace(Request& request, const ChooseName& choose) override;
  std::unique_ptr<NameLock> take_final_name(Request& request, const frame::FileId& made,
                                            const std::string& full_name) override;
  bool has_array_name(Request& request) override;
  StoredPlace place_now(Request& request) override;
  Takeover& takeover() override { return takeover_; }
  void require_changeable(Request& request) override;
  void committed(const frame::Snapshot& snapshot) override {
    services_.tree.remember_commit(node_, snapshot);
  }
  void forget_pages(std::function<void()> done) override {
    services_.kernel.forget_pages(node_, std::move(done));
  }
  void forget_attributes() override { services_.kernel.forget_attributes(node_); }

 private:
  class Lock;
  /// Takes the lock on names, and calls `prepare` under it. If that returns a Need, releases the
  /// lock, does the work and tries again. Returns the lock after `prepare` needed nothing more.
  std::unique_ptr<NameLock> lock(Request& request, const std::function<Need(Lock&)>& prepare);
  void remove_results(Request& request, const Tree::NodeName& array);

  NameServices& services_;
  const NodeId node_;
  NodeTakeover takeover_;
};

}  // namespace bloscfs::fs
