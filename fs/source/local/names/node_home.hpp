#pragma once
// The ContentHome of a node of the tree.

#include <memory>
#include <string>
#include <utility>

#include "fs/content/content_home.hpp"
#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

class NodeHome final : public ContentHome {
 public:
  NodeHome(NameServices& services, NodeId node);
  ~NodeHome() override;
  NodeHome(const NodeHome&) = delete;
  NodeHome& operator=(const NodeHome&) = delete;

  std::unique_ptr<NameLock> lock_name() override;
  StoredPlace place_now() override;
  std::string path() override;
  bool is_in_place() override { return services_.tree.is_in_place(node_); }
  std::unique_ptr<Refuge> conflict_refuge(ShownAs shown, uid_t user) override;
  std::unique_ptr<Refuge> recovery_refuge(ShownAs shown, uid_t user) override;
  std::unique_ptr<Refuge> rescue_refuge(ShownAs shown, uid_t user) override;
  void require_finished() override;
  Following follow(const MakeReady& make_ready) override;
  void forget_pages(std::function<void()> done) override {
    services_.forget_pages(node_, std::move(done));
  }
  void forget_attributes() override { services_.forget_attributes(node_); }
  void committed(const frame::Snapshot& snapshot) override {
    services_.tree.remember_commit(node_, snapshot);
  }
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
