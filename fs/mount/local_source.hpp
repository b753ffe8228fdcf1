#pragma once
// A SOURCE of files.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/mount/container_files.hpp"
#include "fs/mount/descriptor_shares.hpp"
#include "fs/mount/extended_attributes.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/mount/mount.hpp"
#include "fs/mount/mount_source.hpp"
#include "fs/mount/plain_files.hpp"
#include "fs/mount/source.hpp"
#include "fs/options/options.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/leftover_sweep.hpp"
#include "fs/source/local/names/namespace.hpp"
#include "fs/source/local/stores/store_guard.hpp"
#include "fs/source/local/stores/stores.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// Nodes are also those of what stores hold.
class LocalSource final : public Source {
 public:
  /// `lock` is that of a writable mount, and null for others. `services` outlive it.
  LocalSource(const MountServices& services, MountSource source, const MountOptions& options,
              MountLock* lock, std::size_t committing_threads);

  Tree& tree() { return tree_; }
  Stores& stores() { return stores_; }
  const SourceRoot& root() const { return root_; }
  Namespace& names() { return names_; }

  bool is_writable() const override { return writable_; }

  std::optional<FoundNode> lookup(NodeId directory, const std::string& name) override;
  FoundNode reference(NodeId node) override { return tree_.reference(node); }
  NodeId parent(NodeId node) override { return tree_.parent(node); }
  std::vector<DirectoryEntry> list(NodeId directory, const std::function<void()>& if_many) override;
  std::optional<FoundNode> enter(NodeId directory, const DirectoryEntry& entry) override;
  void forget(NodeId node, std::uint64_t references) override;
  std::string read_link(NodeId node) override;
  void require_listed(NodeId directory) override {
    stores_.require_listed(stores_.present(directory));
  }

  struct stat attributes(NodeId node) override;
  void check_access(NodeId node, int mask) override;
  struct statvfs stat_filesystem() override {
    return root_.stat_filesystem();
  }
  uid_t owner(NodeId node) override;
  std::vector<std::string> attribute_names(NodeId node) override {
    return extended_attributes_.list(node);
  }
  std::string attribute(NodeId node, const std::string& name) override {
    return extended_attributes_.read(node, name);
  }
  std::string told_path(NodeId node) override {
    return Stores::holds(node) ? stores_.told_path(node) : tree_.told_path(node);
  }
  StoredForm stored_form(NodeId node) override;
  bool is_far(NodeId node) override;

  OpenedFile open(NodeId node, int flags, FairShare::Part descriptors) override;
  bool begin_telling(NodeId node) override { return tree_.begin_telling(node); }
  void end_telling(NodeId node) override { tree_.end_telling(node); }

  FairShare::Part take_descriptors() override {
    return descriptors_.take(DescriptorShares::kOfWriter);
  }
  void give_descriptors(NodeId node, FairShare::Part descriptors) override;
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
  void sync_directory(NodeId directory) override {
    names_.sync_directory(stores_.present(directory));
  }
  /// ESTALE for a node that is embedded in a store, and has just become a file.
  void before_changing(NodeId node, const Caller& caller) override;
  void drop_privileges(NodeId node, const Caller& caller) override;
  void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) override;
  void resize(NodeId node, std::int64_t size) override;
  void set_attribute(NodeId node, const std::string& name, const std::string& value, int flags,
                     const Caller& caller) override {
    extended_attributes_.set(node, name, value, flags, caller);
  }
  void remove_attribute(NodeId node, const std::string& name, const Caller& caller) override {
    extended_attributes_.remove(node, name, caller);
  }
  void set_forget_attributes(const ForgetAttributes& forget_attributes) override {
    names_.set_forget_attributes(forget_attributes);
  }
  void set_forget_pages(const ForgetPages& forget_pages) override {
    names_.set_forget_pages(forget_pages);
  }

  std::string statistics() override;
  void tidy() override { root_.tidy(); }
  void begin_end() override { sweep_.reset(); }

 private:
  void begin_writing(MountLock* lock, std::size_t committing_threads);
  void require_permitted(mode_t mode) const;
  NodeId place_to_make(NodeId directory, const std::string& name, const Caller& caller);
  FileKind& kind_of(NodeId node, const SourceEntry& entry);

  const MountServices services_;
  const Surroundings surroundings_;
  std::optional<RescueFolder> rescue_;
  SourceRoot root_;
  Classifier classifier_;
  Tree tree_;
  Stores stores_;
  Namespace names_;               ///< before whatever holds a content
  DescriptorShares descriptors_;  ///< before whatever has a part
  const bool writable_;
  const bool set_ids_, devices_;  ///< may be set, and made
  SpaceWatch space_;
  FileContents contents_;
  const ContainerServices container_services_;
  ContainerFiles containers_;
  PlainFiles plain_files_;
  StoreGuard store_guard_;
  ExtendedAttributes extended_attributes_;
  std::optional<LeftoverSweep> sweep_;
};

/// `pages` and `clock` outlive the mount.
std::unique_ptr<Mount> mount_files(MountSource source, const MountOptions& options,
                                   const WorkerCounts& workers, MountLock* lock, PagePool& pages,
                                   const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
