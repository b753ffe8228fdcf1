#pragma once
// The rule of every subcommand: a run of b2frame uses at most 256 MiB and what one block needs,
// however many files and threads it has and whatever a file claims. One RunLimits is made for a
// run, and all that reads files gets it.
//
// The cache has kUsualCache of these 256 MiB, and up to kMostCache where an array is read whose
// blocks are needed again in each of its rows. Other parts of the program that read what a file can
// make large take a Loan, for which the cache makes room. The rest is for the program itself (20
// MiB), for pages that are kept (20 MiB), and for chunks that wait to be stored.

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
  /// Largest chunk that is decoded as a whole because a file has such chunks. Those that the
  /// command line asks for are as large as it says.
  static constexpr std::size_t kMaxWholeChunk = std::size_t{96} << 20;

  RunLimits();
  RunLimits(const RunLimits&) = delete;
  RunLimits& operator=(const RunLimits&) = delete;

  /// Of all files together. A block that needs more than half of it is decoded alone.
  fs::BlockCache& cache() { return cache_; }
  fs::Stats& stats() { return stats_; }
  /// Makes the cache large enough to keep a row of blocks of an array, if it may be that large.
  void keep_row(std::int64_t bytes);
  /// Names the contents of one more file in the cache.
  std::uint64_t next_content() { return ++contents_; }

  /// So many bytes outside of the cache, while it lives. Waits for those of other threads.
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
