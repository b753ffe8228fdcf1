#pragma once
// What a mount lends to its Source.

#include <atomic>
#include <exception>
#include <functional>
#include <string>

#include "frame/store/clock.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/content.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/content/readahead.hpp"
#include "fs/options/options.hpp"
#include "fs/source/node.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/block_cache.hpp"

namespace bloscfs::fs {

class Contents;

/// What all handles that read contents share. Outlives their last use.
struct ReadingServices {
  Stats& stats;
  WorkerPool& pool;
  ReadaheadBudget& readahead;
  OnceLog& log;
  const std::atomic<int>& direct_handles;  ///< open with O_DIRECT
  PagePool& pages;

  void log_bad_data(const std::string& told_path, const std::exception& error) const;
};

inline void ReadingServices::log_bad_data(const std::string& told_path,
                                          const std::exception& error) const {
  log.error(told_path + ": " + error.what());
}

/// Has the kernel forget what it keeps of a file. Set before the first request.
struct KernelCache {
  /// Pages. `done` is called, from any thread, when the kernel has written what was changed in
  /// them, and has nothing any more.
  std::function<void(NodeId, std::function<void()> done)> forget_pages =
      [](NodeId, const std::function<void()>& done) { done(); };
  std::function<void(NodeId)> forget_attributes = [](NodeId) {};
};

/// Outlives the Source.
struct SourceServices {
  const frame::Clock& clock;
  Stats& stats;
  BlockCache& cache;
  OnceLog& log;
  const WriteOptions& write_options;
  DirtyBudget& budget;
  Committer& committer;
  Contents& contents;
  const ContentServices& content;
  const ReadingServices& reading;
  const KernelCache& kernel;
};

}  // namespace bloscfs::fs
