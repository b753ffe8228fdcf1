#pragma once
// Counters of a mount. The extended attribute user.bloscfs.stats shows them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::fs {

struct Stats {
  using Counter = std::atomic<std::uint64_t>;

  Counter cache_hits{0};
  Counter cache_misses{0};
  Counter cache_bytes{0};  ///< bytes that the block cache holds now
  Counter cache_size{0};   ///< the limit for the cache, including uncommitted data
  Counter cache_evictions{0};
  Counter budget_bytes{0};  ///< used bytes of cache_size, as of the last query of the counters
  Counter blocks_decoded{0};
  Counter index_blocks_decoded{0};
  Counter chunks_opened{0};
  Counter contents_bytes_read{0};  ///< bytes that the kernel asked for
  Counter readahead_blocks{0};
  Counter dirty_bytes{0};
  Counter dirty_limit{0};
  Counter commits{0};
  Counter commit_failures{0};
  Counter checksum_failures{0};
  Counter io_errors{0};
  Counter conflicts{0};      ///< files whose contents were saved in a conflict file
  Counter failing_files{0};  ///< whose last commit failed, as of the last query of the counters
  Counter rescued_files{0};  ///< frames that wait for `b2frame recover`, as of the last query
  Counter names_held_us{0};  ///< longest time that the lock on names was held, as of the last query
  frame::SourceCounters source;
  std::string version;  ///< of the program; set before the first request
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// Returns a JSON object of integers, and the string `version`, without a newline.
std::string to_json(const Stats& stats);
/// For a mount of an object store: the numbers of its tree replace the counts of source reads.
std::string to_json(const Stats& stats, const frame::ObjectTreeNumbers& numbers);

}  // namespace bloscfs::fs
