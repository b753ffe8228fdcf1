#pragma once
// A SOURCE of objects, mounted, without the kernel.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/readahead.hpp"
#include "fs/mount/container_handle.hpp"
#include "fs/mount/content_handle.hpp"
#include "fs/mount/directory_handles.hpp"
#include "fs/mount/metalayer_edits.hpp"
#include "fs/mount/mounted_files.hpp"
#include "fs/mount/object_contents.hpp"
#include "fs/objects/later_removal.hpp"
#include "fs/objects/objects.hpp"
#include "fs/options/options.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

class ObjectFilesystem final : public MountedFiles {
 public:
  /// `pages` and `clock` outlive it. Throws where SOURCE cannot be shown.
  ObjectFilesystem(const std::shared_ptr<frame::ObjectTree>& tree, const MountOptions& options,
                   std::size_t workers, PagePool& pages,
                   const frame::Clock& clock = frame::system_clock());
  /// What is asked for ahead of readers that were not closed is given up.
  ~ObjectFilesystem() override { handles_.clear(); }

  std::optional<Tree::Found> lookup(NodeId directory, const std::string& name) override {
    return objects_.lookup(directory, name);
  }
  Tree::Found reference(NodeId node) override { return objects_.reference(node); }
  NodeId parent(NodeId node) override { return objects_.parent(node); }
  /// Attributes cost a request for each.
  std::optional<Tree::Found> enter(NodeId, const Tree::DirectoryEntry&) override {
    return Tree::Found{};
  }
  void forget(NodeId node, std::uint64_t references) override { objects_.forget(node, references); }
  std::string read_link(NodeId node) override { return objects_.read_link(node); }

  std::uint64_t listings_begun() const override { return directories_.listings_begun(); }
  std::uint64_t open_directory(NodeId node, std::uint64_t begun) override {
    return directories_.open(node, begun);
  }
  std::shared_ptr<const DirectoryListing> entries(std::uint64_t directory, bool from_start,
                                                  std::uint64_t begun) override {
    return directories_.entries(directory, from_start, begun);
  }
  void release_directory(std::uint64_t directory) override { directories_.release(directory); }
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

  Opened open(NodeId node, int flags, FairShare::Part descriptors) override;
  std::shared_ptr<FileHandle> handle(std::uint64_t number) const override;
  void release(std::uint64_t number) override;

  // fs/mount/object_writing.cpp

  Tree::Found create_file(NodeId directory, const std::string& name, mode_t mode,
                          const Caller& caller) override;
  Tree::Found make_directory(NodeId directory, const std::string& name, mode_t mode,
                             const Caller& caller) override;
  Tree::Found make_symlink(NodeId directory, const std::string& name, const std::string& target,
                           const Caller& caller) override;
  Tree::Found make_special(NodeId directory, const std::string& name, mode_t mode, dev_t device,
                           const Caller& caller) override;
  Tree::Found make_link(NodeId node, NodeId directory, const std::string& name,
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
  void commit_written() override;
  void commit_all() override;
  DirtyBudget& dirty_budget() override { return budget_; }
  void set_forget_attributes(const ForgetAttributes& forget_attributes) override {
    contents_.set_forget_attributes(forget_attributes);
  }
  void change_options(const MountOptions& options) override;
  std::vector<Uncommitted> uncommitted() override {
    return look_at_uncommitted(committer_.uncommitted());
  }

  frame::Clock::Duration idle_time() const override;
  std::uint64_t requests() const override {
    return stats_.cache_hits + stats_.cache_misses + stats_.contents_bytes_read + stats_.commits;
  }
  void rest() override;

 private:
  std::shared_ptr<FileHandle> open_for_reading(NodeId node, int flags);
  std::shared_ptr<FileHandle> open_for_writing(NodeId node, int flags);
  void put_metalayer(NodeId node, const std::string& name, LayerChange content, int flags);
  std::optional<std::string> written_attribute(const Content& content,
                                               const std::string& name) const;
  void require_writable(const std::string& name) const;

  const frame::Clock& clock_;
  const std::shared_ptr<const frame::ObjectTree> tree_;
  const bool writable_;
  Stats stats_;
  BlockCache cache_;
  LaterRemoval later_;
  Objects objects_;
  DirectoryHandles directories_;
  OnceLog log_;
  const WriteOptions write_options_;
  std::atomic<std::uint64_t> next_content_id_{1};
  DirtyBudget budget_;  ///< before whatever holds a content, as what stands above
  HandleTable<FileHandle> handles_;
  ReadaheadBudget readahead_budget_;
  std::atomic<frame::Clock::TimePoint> last_release_;
  std::atomic<int> direct_handles_{0};  ///< open with O_DIRECT
  WorkerPool pool_;                     ///< its tasks use everything above
  Committer committer_;
  const ContentServices content_services_;
  const ReadingServices reading_services_;
  ObjectContents contents_;
  const ContainerServices container_services_;
  MetalayerEdits metalayers_;
};

}  // namespace bloscfs::fs
