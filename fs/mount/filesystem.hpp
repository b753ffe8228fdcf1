#pragma once
// The mounted filesystem without the kernel: what the FUSE operations call.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "fs/content/readahead.hpp"
#include "fs/mount/container_files.hpp"
#include "fs/mount/descriptor_shares.hpp"
#include "fs/mount/directory_handles.hpp"
#include "fs/mount/extended_attributes.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/mount/frame_aliases.hpp"
#include "fs/mount/mount_source.hpp"
#include "fs/mount/once_log.hpp"
#include "fs/mount/plain_files.hpp"
#include "fs/names/leftover_sweep.hpp"
#include "fs/names/namespace.hpp"
#include "fs/options/options.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/source_root.hpp"
#include "fs/stores/store_changes.hpp"
#include "fs/stores/stores.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/tree/classifier.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, codec::Error.
class Filesystem {
 public:
  /// `lock` is that of a writable mount, and null for others. `pages` outlives it.
  Filesystem(MountSource source, const MountOptions& options, std::size_t workers, MountLock* lock,
             PagePool& pages);

  Tree& tree() { return tree_; }
  Stores& stores() { return stores_; }
  const SourceRoot& root() const { return root_; }
  Stats& stats() { return stats_; }
  BlockCache& cache() { return cache_; }
  Namespace& names() { return names_; }
  DirectoryHandles& directories() { return directories_; }
  ExtendedAttributes& extended_attributes() { return extended_attributes_; }

  /// As Tree's, also of what stores hold.
  std::optional<Tree::Found> lookup(NodeId directory, const std::string& name);
  struct stat attributes(NodeId node);
  std::string read_link(NodeId node);
  void forget(NodeId node, std::uint64_t references);
  void check_access(NodeId node, int mask);

  // As Namespace's, also in stores that are directories.

  Tree::Found create_file(NodeId directory, const std::string& name, mode_t mode,
                          const Caller& caller);
  Tree::Found make_directory(NodeId directory, const std::string& name, mode_t mode,
                             const Caller& caller);
  Tree::Found make_symlink(NodeId directory, const std::string& name, const std::string& target,
                           const Caller& caller);
  Tree::Found make_special(NodeId directory, const std::string& name, mode_t mode, dev_t device,
                           const Caller& caller);
  Tree::Found make_link(NodeId node, NodeId directory, const std::string& name,
                        const Caller& caller);
  void remove_file(NodeId directory, const std::string& name, const Caller& caller);
  void remove_directory(NodeId directory, const std::string& name, const Caller& caller);
  void rename(NodeId from, const std::string& from_name, NodeId to, const std::string& to_name,
              unsigned flags, const Caller& caller);
  void sync_directory(NodeId directory) { names_.sync_directory(stores_.present(directory)); }

  /// Before contents or attributes of a node are changed: ESTALE for one that is embedded in a
  /// store, and has just become a file.
  void before_changing(NodeId node, const Caller& caller);
  /// True for a store, and for what is in one: much of that takes long.
  bool is_in_store(NodeId node);

  struct Opened {
    std::uint64_t handle = 0;
    bool changed = false;      ///< the kernel's pages and attributes of the file are out of date
    bool is_uncached = false;  ///< as FileHandle's
  };
  /// `descriptors`: what take_descriptors() has given for it.
  Opened open(NodeId node, int flags, FairShare::Part descriptors = {});
  /// For a new file, before it is made. Errors as DescriptorShares::take's.
  FairShare::Part take_descriptors() { return descriptors_.take(DescriptorShares::kOfWriter); }
  /// A new file that nobody opens has them until its commit.
  void give_descriptors(NodeId node, FairShare::Part descriptors);
  std::shared_ptr<FileHandle> handle(std::uint64_t number) const;
  void release(std::uint64_t number);

  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  void drop_privileges(NodeId node, const Caller& caller);
  /// As chown(2), chmod(2) and utimensat(2), which clears such bits where the owner or the group is
  /// set, also to what it is.
  void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller);
  /// As truncate(2).
  void resize(NodeId node, std::int64_t size);
  /// The user who owns the node's object in SOURCE, whatever is shown.
  uid_t owner(NodeId node);

  /// Commits everything that was written. EROFS for a mount that was read-only from the start.
  void commit_written();
  /// The same, before the mount ends. What cannot be committed is kept for `b2frame recover` where
  /// that is possible; the exception names each file and what has become of it.
  void commit_all();

  /// Time since the last file handle was released; zero while one is open.
  std::chrono::steady_clock::duration idle_time() const;
  /// Grows with everything that is read or committed.
  std::uint64_t requests() const {
    return stats_.cache_hits + stats_.cache_misses + stats_.commits;
  }
  /// Gives most of the memory back that may serve nobody any more.
  void rest();

 private:
  void begin_writing(MountLock* lock);
  NodeId place_to_make(NodeId directory, const std::string& name, const Caller& caller);
  FileKind& kind_of(NodeId node, const SourceEntry& entry);
  Opened add_handle(const std::shared_ptr<FileHandle>& handle, bool changed,
                    FairShare::Part descriptors);

  const Surroundings surroundings_;
  SourceRoot root_;
  Stats stats_;
  const ReaderSettings reader_settings_;
  BlockCache cache_;
  Classifier classifier_;
  Tree tree_;
  Stores stores_;
  Namespace names_;  ///< before whatever holds a content
  DirectoryHandles directories_;
  OnceLog log_;
  DescriptorShares descriptors_;  ///< before whatever has a part
  const WriteOptions write_options_;
  const bool writable_;
  std::atomic<std::uint64_t> next_content_id_{1};
  DirtyBudget budget_;  ///< before whatever holds a content, as what stands above
  HandleTable<FileHandle> handles_;
  ReadaheadBudget readahead_budget_;
  std::atomic<std::chrono::steady_clock::rep> last_release_;
  std::atomic<int> direct_handles_{0};  ///< open with O_DIRECT
  WorkerPool pool_;                     ///< its tasks use everything above
  Committer committer_;
  const ContentServices content_services_;
  FileContents contents_;
  const ContainerServices container_services_;
  ContainerFiles containers_;
  PlainFiles plain_files_;
  FrameAliases aliases_;
  StoreChanges store_changes_;
  ExtendedAttributes extended_attributes_;
  std::optional<LeftoverSweep> sweep_;
};

}  // namespace bloscfs::fs
