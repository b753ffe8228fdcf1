#pragma once
// Counters of a mount, shown as the attribute user.bloscfs.stats.

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
  Counter cache_bytes{0};  ///< bytes held by the block cache now
  Counter cache_size{0};   ///< what the mount may keep, uncommitted data too
  Counter cache_evictions{0};
  Counter budget_bytes{0};  ///< of cache_size that is taken, when it was last asked for
  Counter blocks_decoded{0};
  Counter index_blocks_decoded{0};
  Counter chunks_opened{0};
  Counter contents_bytes_read{0};  ///< that the kernel asked for
  Counter readahead_blocks{0};
  Counter dirty_bytes{0};
  Counter dirty_limit{0};
  Counter commits{0};
  Counter commit_failures{0};
  Counter checksum_failures{0};
  Counter io_errors{0};
  Counter failing_files{0};  ///< whose last commit failed, when it was last asked for
  Counter rescued_files{0};  ///< frames of this SOURCE in the rescue folder, at that time
  Counter names_held_us{0};  ///< at the longest, when it was last asked for
  frame::SourceCounters source;
  std::string version;  ///< of the program; set before the first request
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// A JSON object of integers and `version`, a string, without newline.
std::string to_json(const Stats& stats);
/// The same of a mount of objects, whose tree counts what was read of it.
std::string to_json(const Stats& stats, const frame::ObjectTreeNumbers& numbers);

}  // namespace bloscfs::fs
