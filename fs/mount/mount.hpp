#pragma once
// A mounted filesystem without the kernel: open files, uncommitted changes, and the memory that
// both use. Names and attributes belong to its Source.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/content.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/content/readahead.hpp"
#include "fs/mount/directory_handles.hpp"
#include "fs/mount/extended_attributes.hpp"
#include "fs/options/options.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/block_cache.hpp"

namespace bloscfs::fs {

/// Thread-safe. Throws what its Source throws, and EBADF for an unknown handle number.
class Mount {
 public:
  /// Makes the mount's Source. The constructor of Mount calls this once, after it has made all
  /// services. If the source is writable, the constructor then starts the committer.
  using MakeSource = std::function<std::unique_ptr<Source>(const SourceServices& services)>;

  /// `workers`: number of threads that decode and encode. `pages` and `clock` outlive the mount.
  /// Throws what `make_source` throws.
  Mount(const MountOptions& options, std::size_t workers, PagePool& pages,
        const frame::Clock& clock, const MakeSource& make_source);
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  Source& source() { return *source_; }
  Stats& stats() { return stats_; }
  BlockCache& cache() { return cache_; }
  DirectoryHandles& directories() { return *directories_; }
  ExtendedAttributes& extended_attributes() { return *extended_attributes_; }
  /// Its functions must be set before the first request.
  KernelCache& kernel_cache() { return kernel_cache_; }

  /// Returns the value of an extended attribute of a node, or of the mount itself.
  std::string attribute(Request& request, NodeId node, const std::string& name);

  // --- open files

  struct Opened {
    std::uint64_t handle = 0;
    bool changed = false;        ///< see OpenedFile
    bool may_be_mapped = false;  ///< see FileHandle
  };
  /// Opens a file by Source::open(), and numbers its handle.
  Opened open(Request& request, NodeId node, int flags, FairShare::Part descriptors = {});
  std::shared_ptr<FileHandle> handle(std::uint64_t number) const;
  void release(Request& request, std::uint64_t number);

  // --- commits

  /// Commits all changes, and logs a line for each file that could not be committed. Throws EROFS
  /// if the mount was read-only from the start.
  void commit_written();
  /// Commits all changes before the mount ends. Keeps changes that it cannot commit for `b2frame
  /// recover`, where possible, and logs a line for each such file. Throws std::runtime_error if a
  /// file was not committed.
  void commit_all();
  /// Its has_room() is to be called before the reply to a write, if the handle has a dirty_user().
  DirtyBudget& dirty_budget() { return budget_; }
  /// A file with uncommitted changes.
  struct Uncommitted {
    std::string path;        ///< below SOURCE
    std::int64_t bytes = 0;  ///< uncommitted bytes of contents
    std::int64_t size = 0;   ///< of the file, which the rescue folder would get as a whole
    std::string error;       ///< why the last commit failed; empty if it did not fail
  };
  std::vector<Uncommitted> uncommitted();

  // --- the mount as a whole

  /// Applies dirty_limit, sync=, commit= and a larger cache_size. Ignores a smaller cache_size.
  void change_options(const MountOptions& options);
  /// Returns the time since the last file was closed; zero while a file is open.
  frame::Clock::Duration idle_time() const;
  /// Drops `references` of the kernel's references to a node; see Source::forget().
  void forget(NodeId node, std::uint64_t references) {
    source_->forget(node, references);
    forgotten_++;
  }
  /// Returns how often the kernel has forgotten a node.
  std::uint64_t forgotten() const { return forgotten_; }
  /// Returns a counter that grows with each read and each commit.
  std::uint64_t requests() const {
    return stats_.cache_hits + stats_.cache_misses + stats_.contents_bytes_read + stats_.commits;
  }
  /// Frees most of the cache. To be called when the mount is unused.
  void rest() { cache_.rest(); }

 private:
  void log_uncommitted();
  void keep_uncommitted();

  const frame::Clock& clock_;
  Stats stats_;
  std::atomic<std::uint64_t> forgotten_{0};
  BlockCache cache_;
  OnceLog log_;
  const WriteOptions write_options_;
  std::atomic<std::uint64_t> next_content_id_{1};
  std::atomic<int> direct_handles_{0};  ///< opened with O_DIRECT
  DirtyBudget budget_;                  ///< outlives every Content
  ReadaheadBudget readahead_budget_;
  KernelCache kernel_cache_;
  const ContentServices content_services_;
  const SourceServices services_;
  Contents contents_;
  std::unique_ptr<Source> source_;  ///< outlives handles and threads
  HandleTable<FileHandle> handles_;
  std::atomic<frame::Clock::TimePoint> last_release_;
  WorkerPool pool_;  ///< its tasks use the members above
  Committer committer_;
  std::optional<DirectoryHandles> directories_;
  std::optional<ExtendedAttributes> extended_attributes_;
};

}  // namespace bloscfs::fs
