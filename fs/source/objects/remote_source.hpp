#pragma once
// A SOURCE of objects.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/options/options.hpp"
#include "fs/source/objects/later_removal.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"

namespace bloscfs::fs {

class RemoteSource final : public Source {
 public:
  /// `services` outlive it. Throws where SOURCE cannot be shown.
  RemoteSource(const SourceServices& services, const std::shared_ptr<frame::ObjectTree>& tree,
               const MountOptions& options);

  bool is_writable() const override { return writable_; }

  std::optional<FoundNode> lookup(NodeId directory, const std::string& name) override {
    return objects_.lookup(directory, name);
  }
  FoundNode reference(NodeId node) override { return objects_.reference(node); }
  NodeId parent(NodeId node) override { return objects_.parent(node); }
  std::vector<DirectoryEntry> list(NodeId directory,
                                   const std::function<void()>& if_many) override {
    return objects_.list(directory, if_many);
  }
  /// Attributes cost a request for each.
  std::optional<FoundNode> enter(NodeId, const DirectoryEntry&) override { return FoundNode{}; }
  void forget(NodeId node, std::uint64_t references) override { objects_.forget(node, references); }
  std::string read_link(NodeId node) override { return objects_.read_link(node); }

  void require_listed(NodeId directory) override { objects_.require_listed(directory); }

  struct stat attributes(NodeId node) override {
    return objects_.attributes(node);
  }
  void check_access(NodeId node, int mask) override;
  /// A store does not tell how much it holds.
  struct statvfs stat_filesystem() override;
  uid_t owner(NodeId node) override { return objects_.owner(node); }
  std::string told_path(NodeId node) override { return objects_.told_path(node); }
  StoredForm stored_form(NodeId node) override { return objects_.stored_form(node); }
  bool is_far(NodeId) override { return true; }

  AttributeFacts attribute_facts(NodeId node) override;
  std::shared_ptr<const frame::Snapshot> frame_of(NodeId node) override {
    return objects_.frame_of(node);
  }
  std::optional<std::string> group_attribute(NodeId node, const std::string& name) override;
  void set_stored_attribute(NodeId node, const std::string& name, const std::string* value,
                            int flags, const Caller& caller) override;

  OpenedFile open(NodeId node, int flags, FairShare::Part descriptors) override;
  std::shared_ptr<const OpenContainer> opened(NodeId node) override {
    return objects_.opened(node);
  }
  std::shared_ptr<const OpenContainer> open_container(NodeId node, bool for_change) override;
  void set_opened(NodeId node, const std::shared_ptr<const OpenContainer>& file) override {
    objects_.set_opened(node, file);
  }
  std::shared_ptr<ContentHome> home(NodeId node) override;
  Committer::Services committing() override;

  FoundNode create_file(NodeId directory, const std::string& name, mode_t mode,
                        const Caller& caller) override;
  FoundNode make_directory(NodeId directory, const std::string& name, mode_t mode,
                           const Caller& caller) override;
  FoundNode make_symlink(NodeId directory, const std::string& name, const std::string& target,
                         const Caller& caller) override;
  FoundNode make_special(NodeId directory, const std::string& name, mode_t mode, dev_t device,
                         const Caller& caller) override;
  FoundNode make_link(NodeId node, NodeId directory, const std::string& name,
                      const Caller& caller) override;
  void remove_file(NodeId directory, const std::string& name, const Caller& caller) override;
  void remove_directory(NodeId directory, const std::string& name, const Caller& caller) override;
  void rename(NodeId from, const std::string& from_name, NodeId to, const std::string& to_name,
              unsigned flags, const Caller& caller) override;
  void sync_directory(NodeId) override;
  /// No object has bits that a write would take.
  void drop_privileges(NodeId, const Caller&) override {}
  void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) override;
  void resize(NodeId node, std::int64_t size) override;

  std::string statistics() override { return to_json(services_.stats, tree_->numbers()); }
  void tidy() override { later_.begin_due(); }

 private:
  void require_writable(const std::string& name) const;

  const SourceServices services_;
  const std::shared_ptr<const frame::ObjectTree> tree_;
  const bool writable_;
  LaterRemoval later_;
  Objects objects_;
  const std::string refuge_;  ///< a folder for what cannot be committed in the end, or empty
};

}  // namespace bloscfs::fs
