#pragma once
// A mount without the kernel: what is open, what waits for a commit, and the memory of both. Names
// and attributes are its Source's.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/content.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/content/readahead.hpp"
#include "fs/mount/content_handle.hpp"
#include "fs/mount/directory_handles.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/mount/source.hpp"
#include "fs/options/options.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/block_cache.hpp"

namespace bloscfs::fs {

/// What a Mount lends to its Source, and has for longer than that.
struct MountServices {
  const frame::Clock& clock;
  Stats& stats;
  BlockCache& cache;
  OnceLog& log;
  const WriteOptions& write_options;
  DirtyBudget& budget;
  Committer& committer;
  const ContentServices& content;
  const ReadingServices& reading;
};

/// Thread-safe. Errors: as its Source's; EBADF for numbers that are not in use.
class Mount {
 public:
  /// Called once, at the end of the constructor. A source that is writable starts the committer.
  using MakeSource = std::function<std::unique_ptr<Source>(const MountServices& services)>;

  /// `workers`: threads that decode and encode. `pages` and `clock` outlive it. Throws what
  /// `make_source` throws.
  Mount(const MountOptions& options, std::size_t workers, PagePool& pages,
        const frame::Clock& clock, const MakeSource& make_source);
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  Source& source() { return *source_; }
  Stats& stats() { return stats_; }
  BlockCache& cache() { return cache_; }
  DirectoryHandles& directories() { return directories_; }

  /// An attribute of a node, those of the mount among them.
  std::string attribute(NodeId node, const std::string& name);

  // --- open files

  struct Opened {
    std::uint64_t handle = 0;
    bool changed = false;  ///< as OpenedFile's
  };
  /// As Source::open().
  Opened open(NodeId node, int flags, FairShare::Part descriptors = {});
  std::shared_ptr<FileHandle> handle(std::uint64_t number) const;
  void release(std::uint64_t number);

  // --- commits

  /// Commits everything that was written. EROFS for a mount that was read-only from the start.
  void commit_written();
  /// The same, before the mount ends. What cannot be committed is kept for `b2frame recover` where
  /// that is possible; the exception names each file and what has become of it.
  void commit_all();
  /// Before the answer to a write whose handle has a dirty_user().
  DirtyBudget& dirty_budget() { return budget_; }
  /// What still waits for a commit.
  struct Uncommitted {
    std::string path;         ///< below SOURCE
    std::int64_t bytes = 0;   ///< of contents
    std::error_code failure;  ///< of the last try, if one has failed
  };
  std::vector<Uncommitted> uncommitted();

  // --- the mount as a whole

  /// Goes on with another dirty_limit and sync=, and a cache_size that is not less than before.
  void change_options(const MountOptions& options);
  /// Time since the last file handle was released; zero while one is open.
  frame::Clock::Duration idle_time() const;
  /// Grows with everything that is read or committed.
  std::uint64_t requests() const {
    return stats_.cache_hits + stats_.cache_misses + stats_.contents_bytes_read + stats_.commits;
  }
  /// Gives most of the memory back that may serve nobody any more.
  void rest() { cache_.rest(); }

 private:
  void keep_uncommitted();

  const frame::Clock& clock_;
  Stats stats_;
  BlockCache cache_;
  OnceLog log_;
  const WriteOptions write_options_;
  std::atomic<std::uint64_t> next_content_id_{1};
  std::atomic<int> direct_handles_{0};  ///< open with O_DIRECT
  DirtyBudget budget_;                  ///< before whatever holds a content
  ReadaheadBudget readahead_budget_;
  std::unique_ptr<Source> source_;  ///< before what asks it
  DirectoryHandles directories_;
  HandleTable<FileHandle> handles_;
  std::atomic<frame::Clock::TimePoint> last_release_;
  WorkerPool pool_;  ///< its tasks use everything above
  Committer committer_;
  const ContentServices content_services_;
  const ReadingServices reading_services_;
};

}  // namespace bloscfs::fs
