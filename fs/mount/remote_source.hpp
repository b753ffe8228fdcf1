#pragma once
// A SOURCE of objects.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/container_handle.hpp"
#include "fs/mount/metalayer_edits.hpp"
#include "fs/mount/mount.hpp"
#include "fs/mount/object_contents.hpp"
#include "fs/mount/source.hpp"
#include "fs/options/options.hpp"
#include "fs/source/objects/later_removal.hpp"
#include "fs/source/objects/objects.hpp"

namespace bloscfs::fs {

class RemoteSource final : public Source {
 public:
  /// `services` outlive it. Throws where SOURCE cannot be shown.
  RemoteSource(const MountServices& services, const std::shared_ptr<frame::ObjectTree>& tree,
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
  std::vector<std::string> attribute_names(NodeId node) override;
  std::string attribute(NodeId node, const std::string& name) override;
  std::string told_path(NodeId node) override { return objects_.told_path(node); }
  StoredForm stored_form(NodeId node) override { return objects_.stored_form(node); }
  bool is_far(NodeId) override { return true; }

  OpenedFile open(NodeId node, int flags, FairShare::Part descriptors) override;

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
  void set_attribute(NodeId node, const std::string& name, const std::string& value, int flags,
                     const Caller& caller) override;
  void remove_attribute(NodeId node, const std::string& name, const Caller& caller) override;
  void set_forget_attributes(const ForgetAttributes& forget_attributes) override {
    contents_.set_forget_attributes(forget_attributes);
  }

  std::string statistics() override { return to_json(services_.stats, tree_->numbers()); }

 private:
  std::shared_ptr<FileHandle> open_for_reading(NodeId node, int flags);
  std::shared_ptr<FileHandle> open_for_writing(NodeId node, int flags);
  void put_metalayer(NodeId node, const std::string& name, LayerChange content, int flags);
  void require_writable(const std::string& name) const;

  const MountServices services_;
  const std::shared_ptr<const frame::ObjectTree> tree_;
  const bool writable_;
  LaterRemoval later_;
  Objects objects_;
  ObjectContents contents_;
  const ContainerServices container_services_;
  MetalayerEdits metalayers_;
};

/// `pages` and `clock` outlive the mount. Throws where SOURCE cannot be shown.
std::unique_ptr<Mount> mount_objects(const std::shared_ptr<frame::ObjectTree>& tree,
                                     MountOptions options, std::size_t workers, PagePool& pages,
                                     const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
