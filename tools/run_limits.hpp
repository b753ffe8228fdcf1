#pragma once
// The rule for every subcommand: a run of b2frame uses at most 256 MiB plus the memory for one
// block. This holds for any number of files and threads, and for any claim of a file. A run has one
// RunLimits object. Everything that reads files uses it.
//
// The cache has kUsualCache of the 256 MiB. It grows up to kMostCache for an array if each row of
// the array needs the same blocks again. Other parts of the program may read data whose size a file
// determines. They take a Loan, for which the cache makes room. The rest of the 256 MiB is for the
// program itself (20 MiB), for pages that are kept (20 MiB), and for chunks that wait to be stored.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fs/support/page_pool.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/block_cache.hpp"

namespace bloscfs::tools {

/// Thread-safe.
class RunLimits {
 public:
  static constexpr std::size_t kUsualCache = std::size_t{64} << 20;
  static constexpr std::size_t kMostCache = std::size_t{160} << 20;
  /// Largest chunk that is decoded as a whole because a file has such chunks. Chunks for which the
  /// command line sets the size may be larger.
  static constexpr std::size_t kMaxWholeChunk = std::size_t{96} << 20;

  RunLimits();
  RunLimits(const RunLimits&) = delete;
  RunLimits& operator=(const RunLimits&) = delete;

  /// Returns the cache of all files. A block that needs more than half of it is decoded while no
  /// other block is.
  fs::BlockCache& cache() { return cache_; }
  fs::Stats& stats() { return stats_; }
  /// Makes the cache large enough to keep a row of blocks of an array, up to kMostCache.
  void keep_row(std::int64_t bytes);
  /// Returns the cache key of the contents of one more file.
  std::uint64_t next_content() { return ++contents_; }

  /// Reserves bytes outside of the cache during its lifetime. Waits for the large loans of other
  /// threads.
  class Loan {
   public:
    Loan(fs::Request& request, RunLimits& limits, std::int64_t bytes)
        : permit_(request, limits.cache_.budget(), bytes),
          part_(limits.cache_.budget(), static_cast<std::size_t>(bytes)) {}

   private:
    fs::MemoryBudget::LargeWork permit_;
    fs::MemoryBudget::Part part_;
  };

 private:
  fs::PagePool pages_;
  fs::Stats stats_;
  fs::BlockCache cache_;
  fs::Mutex growth_mutex_{fs::LockLevel::queue};
  std::atomic<std::uint64_t> contents_{0};
};

}  // namespace bloscfs::tools
