#pragma once
// The services that all contents of a mount share.

#include <atomic>
#include <cstdint>
#include <memory>

#include "frame/editing/recent_writers.hpp"
#include "frame/store/clock.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/options/write_options.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/cached_snapshot.hpp"

namespace bloscfs::fs {

/// Outlives the contents.
struct ContentServices {
  BlockCache& cache;
  Stats& stats;
  ReaderSettings reader;
  WorkerPool& pool;
  DirtyBudget& budget;
  const WriteOptions& options;
  bool raw;  ///< the mount shows an array's elements without an NPY header
  std::atomic<std::uint64_t>& next_id;
  std::shared_ptr<frame::RecentWriters> recent_writers = std::make_shared<frame::RecentWriters>();
  const frame::Clock& clock = frame::system_clock();
};

}  // namespace bloscfs::fs
