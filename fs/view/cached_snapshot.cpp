#include "fs/view/cached_snapshot.hpp"

#include <cerrno>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/view/block_run.hpp"

namespace bloscfs::fs {

CachedSnapshot::CachedSnapshot(std::shared_ptr<const frame::Snapshot> snapshot,
                               std::uint64_t content_id, std::uint64_t index_id, BlockCache& cache,
                               Stats& stats, ReaderSettings settings)
    : snapshot_(std::move(snapshot)),
      content_id_(content_id),
      index_id_(index_id),
      cache_(cache),
      stats_(stats),
      settings_(settings) {}

CacheKey CachedSnapshot::key(CacheKind kind, std::int64_t item, std::int32_t block) const {
  const bool is_index =
      kind == CacheKind::index_page || kind == CacheKind::chunk_map || kind == CacheKind::checksums;
  return {is_index ? index_id_ : content_id_, item, block, kind};
}

bool CachedSnapshot::is_tiny(const frame::ChunkPlace& place) const {
  // Checking a digest can cost more than reading the chunk, so chunks with a digest are cached.
  return place.nbytes < kRunSize && !settings_.verify_checksums &&
         snapshot_->info().checksum.empty();
}

void CachedSnapshot::check_unchanged() const {
  if (!snapshot_->unchanged()) frame::throw_errno(EIO, "source was changed while in use");
}

}  // namespace bloscfs::fs
