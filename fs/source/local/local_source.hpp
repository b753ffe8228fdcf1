#pragma once
// The Source for a directory of files, or for a single file.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/options/options.hpp"
#include "fs/source/local/archives/embedded_stores.hpp"
#include "fs/source/local/archives/local_archives.hpp"
#include "fs/source/local/archives/store_guard.hpp"
#include "fs/source/local/descriptor_shares.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/mount_source.hpp"
#include "fs/source/local/names/leftover_sweep.hpp"
#include "fs/source/local/names/namespace.hpp"
#include "fs/source/local/plain_files.hpp"
#include "fs/source/local/space_watch.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/source/local/tree/tree.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// Serves the files of a directory. Its nodes include those of files and groups in stores.
class LocalSource final : public Source {
 public:
  /// `lock` is null for read-only mounts. `services` outlive this object.
  LocalSource(const SourceServices& services, MountSource source, const MountOptions& options,
              MountLock* lock, std::size_t committing_threads);

  Tree& tree() { return tree_; }
  const SourceRoot& root() const { return root_; }
  Namespace& names() { return names_; }

  bool is_writable() const override { return writable_; }

  std::optional<FoundNode> lookup(Request& request, NodeId directory,
                                  const std::string& name) override {
    return archives_.lookup(request, directory, name);
  }
  FoundNode reference(Request& request, NodeId node) override;
  NodeId parent(NodeId node) override { return tree_.parent(node); }
  std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                  const OnManyEntries& on_many_entries) override {
    return archives_.list(request, directory, on_many_entries);
  }
  std::optional<FoundNode> enter(Request& request, NodeId directory,
                                 const DirectoryEntry& entry) override {
    return archives_.enter(request, directory, entry);
  }
  void forget(NodeId node, std::uint64_t references) override { tree_.forget(node, references); }
  std::string read_link(Request& request, NodeId node) override {
    return archives_.read_link(request, node);
  }
  void require_listed(Request& request, NodeId directory) override {
    archives_.require_listed(request, directory);
  }

  struct stat attributes(Request& request, NodeId node) override {
    return archives_.attributes(request, node);
  }
  void check_access(Request& request, NodeId node, int mask) override;
  struct statvfs stat_filesystem() override {
    return root_.stat_filesystem();
  }
  uid_t owner(NodeId node) override { return archives_.owner(node); }
  std::string display_path(NodeId node) override { return archives_.display_path(node); }
  StoredForm stored_form(Request& request, NodeId node) override;
  bool is_over_network(NodeId node) override { return archives_.is_over_network(node); }

  AttributeFacts attribute_facts(Request& request, NodeId node) override;
  std::shared_ptr<const frame::Snapshot> frame_of(Request& request, NodeId node) override;
  std::optional<std::string> group_attribute(Request& request, NodeId node,
                                             const std::string& name) override;
  void set_stored_attribute(Request& request, NodeId node, const std::string& name,
                            const std::string* value, int flags) override;

  OpenedFile open(Request& request, NodeId node, int flags, FairShare::Part descriptors) override;
  bool begin_notifying_kernel(NodeId node) override { return tree_.begin_notifying_kernel(node); }
  void end_notifying_kernel(NodeId node) override { tree_.end_notifying_kernel(node); }

  std::shared_ptr<const OpenContainer> opened(NodeId node) override;
  std::shared_ptr<const OpenContainer> open_container(Request& request, NodeId node,
                                                      bool for_change) override;
  void set_opened(NodeId node, const std::shared_ptr<const OpenContainer>& file) override {
    tree_.set_opened(node, file);
  }
  std::shared_ptr<ContentHome> home(NodeId node) override { return names_.home(node); }
  bool confirm(NodeId node, const OpenContainer& file) override;
  void retire(NodeId node, const OpenContainer& file) override { tree_.retire_opened(node, file); }
  void left(NodeId node, std::int64_t size) override { tree_.keep_last_size(node, size); }
  bool is_space_scarce() override { return space_.is_scarce(); }
  void require_space(std::int64_t size) override { space_.require(size); }
  Committer::Services committing() override;

  FairShare::Part take_descriptors(Request& request) override {
    return descriptors_.take(request, DescriptorNeed::kWriter);
  }
  FairShare::Part take_descriptors_at_once(Request& request) override {
    return descriptors_.take_at_once(request.payer(), DescriptorNeed::kWriter);
  }
  FoundNode create_file(Request& request, NodeId directory, const std::string& name,
                        mode_t mode) override;
  FoundNode make_directory(Request& request, NodeId directory, const std::string& name,
                           mode_t mode) override;
  FoundNode make_symlink(Request& request, NodeId directory, const std::string& name,
                         const std::string& target) override;
  FoundNode make_special(Request& request, NodeId directory, const std::string& name, mode_t mode,
                         dev_t device) override;
  FoundNode make_link(Request& request, NodeId node, NodeId directory,
                      const std::string& name) override;
  void remove_file(Request& request, NodeId directory, const std::string& name) override;
  void remove_directory(Request& request, NodeId directory, const std::string& name) override;
  void rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
              const std::string& to_name, unsigned flags) override;
  void sync_directory(Request& request, NodeId directory) override {
    names_.sync_directory(request, directory);
  }
  void drop_privileges(Request& request, NodeId node) override;
  void set_attributes(Request& request, NodeId node, NewAttributes wanted) override;
  void resize(Request& request, NodeId node, std::int64_t size) override;

  std::string statistics() override;
  Rescue rescue() override;
  bool tidy() override { return root_.tidy(); }
  void begin_end() override { sweep_.reset(); }

 private:
  void require_permitted(mode_t mode) const;
  void require_changeable(NodeId node, const char* operation);
  void before_making(Request& request, NodeId directory, const std::string& name);
  std::shared_ptr<FileHandle> open_as(Request& request, NodeId node, const SourceEntry& entry,
                                      int flags);
  std::shared_ptr<const OpenContainer> open_as_container(Request& request, NodeId node,
                                                         const SourceEntry& entry);

  const SourceServices& services_;
  const std::string path_;    ///< of SOURCE
  const ColumnPath columns_;  ///< the path to SOURCE
  std::optional<RescueFolder> rescue_;
  const std::string rescue_obstacle_;
  MountLock* const lock_;  ///< null for a read-only mount
  SourceRoot root_;
  Classifier classifier_;
  Tree tree_;
  RecentLocalArchives recent_archives_;
  EmbeddedStores embedded_;
  LocalArchives archives_;
  Namespace names_;               ///< constructed before every member that holds a content
  DescriptorShares descriptors_;  ///< constructed before every member that has a part of it
  const bool writable_;
  const bool set_ids_, devices_;  ///< mount options: set-ID bits may be set, devices may be made
  const std::size_t committing_threads_;
  SpaceWatch space_;
  PlainFiles plain_files_;
  StoreGuard store_guard_;
  std::optional<LeftoverSweep> sweep_;
};

}  // namespace bloscfs::fs
