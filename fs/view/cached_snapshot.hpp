#pragma once
// A snapshot, and the cache that keeps what was read of it. The readers of the index, of chunks and
// of blocks use both.

#include <cstdint>
#include <memory>

#include "codec/error.hpp"
#include "frame/container/snapshot.hpp"
#include "fs/support/stats.hpp"
#include "fs/view/block_cache.hpp"
#include "fs/view/work.hpp"

namespace bloscfs::fs {

struct ReaderSettings {
  bool verify_checksums = false;               ///< check bloscfs.xxh3 when a chunk is opened
  std::int64_t work_limit = Work::kUnlimited;  ///< of one request, see Work
};

/// Thread-safe.
class CachedSnapshot {
 public:
  /// `content_id` identifies chunks and blocks in the cache, `index_id` the index. Two snapshots
  /// may have the same id only if they have the same chunks and blocks, or the same index. `cache`
  /// and `stats` outlive this object.
  CachedSnapshot(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
                 std::uint64_t index_id, BlockCache& cache, Stats& stats, ReaderSettings settings);

  const frame::Snapshot& snapshot() const { return *snapshot_; }
  BlockCache& cache() const { return cache_; }
  Stats& stats() const { return stats_; }
  const ReaderSettings& settings() const { return settings_; }
  CacheKey key(CacheKind kind, std::int64_t item, std::int32_t block = 0) const;

  /// True for chunks that are read again instead of cached: entries for millions of them would cost
  /// too much.
  bool is_tiny(const frame::ChunkPlace& place) const;

  /// Returns the value under `key` from the cache. If the cache lacks it, makes it with `memory`
  /// bytes of working memory, and takes a permit if that is much. Otherwise like BlockCache::get().
  /// If the work runs alone, the result keeps the permit until the caller drops the result. So the
  /// next such work starts only when this value can be evicted.
  template <typename T, typename Make>
  std::shared_ptr<const T> get(Request& request, const CacheKey& key, std::int64_t memory,
                               Make make, Purpose purpose = Purpose::read) const {
    if (cache_.budget().runs_alone(memory)) {
      auto permit =
          std::make_shared<const MemoryBudget::LargeWork>(request, cache_.budget(), memory);
      auto value = cache_.get<T>(request, key, memory, make, purpose);
      const T* const made = value.get();
      struct Kept {  // destroys the value before the permit
        std::shared_ptr<const MemoryBudget::LargeWork> permit;
        std::shared_ptr<const T> value;
      };
      return {std::make_shared<const Kept>(Kept{std::move(permit), std::move(value)}), made};
    }
    if (MemoryBudget::LargeWork::is_large(memory))
      if (auto there = cache_.find<T>(key, purpose)) return there;
    const MemoryBudget::LargeWork permit(request, cache_.budget(), memory);
    return cache_.get<T>(request, key, memory, make, purpose);
  }

  /// Runs `step` like unless_changed(), which throws if the source has changed. For steps that only
  /// find where bytes are. A snapshot that was copied into memory when it was opened needs no
  /// check, because it is of one state.
  template <typename Step>
  auto unless_torn(Step step) const {
    return snapshot_->is_copied() ? step() : unless_changed(step);
  }
  /// Runs `step`, which reads the source, and returns its result. Throws std::system_error(EIO) if
  /// the source has changed: the result of `step`, or an error that it throws, may come from the
  /// change.
  template <typename Step>
  auto unless_changed(Step step) const {
    try {
      auto result = step();
      check_unchanged();
      return result;
    } catch (const codec::Error&) {
      check_unchanged();
      throw;
    }
  }

 private:
  void check_unchanged() const;

  std::shared_ptr<const frame::Snapshot> snapshot_;
  const std::uint64_t content_id_;
  const std::uint64_t index_id_;
  BlockCache& cache_;
  Stats& stats_;
  const ReaderSettings settings_;
};

}  // namespace bloscfs::fs
