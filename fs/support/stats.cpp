#include "fs/support/stats.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bloscfs::fs {

namespace {

nlohmann::json json_of(const Stats& stats) {
  return {
      {"cache_hits", stats.cache_hits.load()},
      {"cache_misses", stats.cache_misses.load()},
      {"cache_bytes", stats.cache_bytes.load()},
      {"cache_size", stats.cache_size.load()},
      {"cache_evictions", stats.cache_evictions.load()},
      {"budget_bytes", stats.budget_bytes.load()},
      {"blocks_decoded", stats.blocks_decoded.load()},
      {"index_blocks_decoded", stats.index_blocks_decoded.load()},
      {"chunks_opened", stats.chunks_opened.load()},
      {"contents_bytes_read", stats.contents_bytes_read.load()},
      {"source_reads", stats.source.reads.load()},
      {"source_bytes_read", stats.source.bytes.load()},
      {"readahead_blocks", stats.readahead_blocks.load()},
      {"dirty_bytes", stats.dirty_bytes.load()},
      {"dirty_limit", stats.dirty_limit.load()},
      {"commits", stats.commits.load()},
      {"commit_failures", stats.commit_failures.load()},
      {"checksum_failures", stats.checksum_failures.load()},
      {"io_errors", stats.io_errors.load()},
      {"conflicts", stats.conflicts.load()},
      {"failing_files", stats.failing_files.load()},
      {"rescued_files", stats.rescued_files.load()},
      {"version", stats.version},
      {"names_held_us", stats.names_held_us.load()},
      {"pid", ::getpid()},
      {"uptime_ms", std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::steady_clock::now() - stats.begun)
                        .count()},
  };
}

}  // namespace

std::string to_json(const Stats& stats) { return json_of(stats).dump(); }

std::string to_json(const Stats& stats, const frame::ObjectTreeNumbers& numbers) {
  nlohmann::json object = json_of(stats);
  object["source_reads"] = numbers.reads;
  object["source_bytes_read"] = numbers.bytes_read;
  object["network_requests"] = numbers.requests;
  object["network_bytes_received"] = numbers.bytes_received;
  return object.dump();
}

}  // namespace bloscfs::fs
