#pragma once
// Whether SOURCE's filesystem has room for what waits for a commit.

#include <chrono>
#include <cstdint>

#include "frame/store/byte_source.hpp"
#include "fs/source/source_root.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// True where the filesystem of a directory enforces quotas, or limits of subvolumes.
bool enforces_quotas(const frame::UniqueFd& directory);

/// Once close(2) has returned 0 its contents must have room, whatever other programs write. So a
/// file is committed before its close is answered where space is scarce: then the close tells of
/// an error, and what can be compressed still fills the disk. Free space is what users other than
/// root may have. Thread-safe.
class SpaceWatch {
 public:
  /// `stats` tells how much is dirty.
  SpaceWatch(const SourceRoot& root, bool has_quotas, const Stats& stats)
      : root_(root), stats_(stats), has_quotas_(has_quotas) {}

  /// True where less is free than what is dirty and a reserve; also where quotas are enforced,
  /// since what others have left of theirs is told to nobody but administrators.
  bool is_scarce();
  /// Throws ENOSPC where no space is left but what is reserved for root.
  void require_unreserved() const;
  /// Throws ENOSPC where there is no room for so many bytes more.
  void require(std::int64_t size) const;

 private:
  std::uint64_t free_bytes() const;

  const SourceRoot& root_;
  const Stats& stats_;
  const bool has_quotas_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point looked_ GUARDED_BY(mutex_);
  std::uint64_t free_ GUARDED_BY(mutex_) = 0;  ///< bytes, then
};

}  // namespace bloscfs::fs
