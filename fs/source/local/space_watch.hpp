#pragma once
// Whether SOURCE's filesystem has room for what waits for a commit.

#include <chrono>
#include <cstdint>

#include "frame/store/byte_source.hpp"
#include "frame/store/clock.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// True where the filesystem of a directory enforces quotas, or limits of subvolumes.
bool enforces_quotas(const frame::UniqueFd& directory);

/// After close(2) has returned 0, the file must not fail for lack of space. So where space is
/// scarce, the mount commits a file before it answers the close, and the close tells the error. The
/// size that counts is the compressed one. Free space excludes the blocks reserved for root.
/// Thread-safe.
class SpaceWatch {
 public:
  /// `stats` tells how much is dirty. All outlive it.
  SpaceWatch(const SourceRoot& root, bool has_quotas, const Stats& stats,
             const frame::Clock& clock = frame::system_clock())
      : root_(root), stats_(stats), clock_(clock), has_quotas_(has_quotas) {}

  /// True if less is free than all dirty bytes and a reserve. Also true if quotas are enforced: the
  /// kernel does not tell the daemon how much of a quota another user has left.
  bool is_scarce();
  /// Throws ENOSPC where no space is left but what is reserved for root.
  void require_unreserved() const;
  /// Throws ENOSPC where there is no room for so many bytes more.
  void require(std::int64_t size) const;

 private:
  std::uint64_t free_bytes() const;

  const SourceRoot& root_;
  const Stats& stats_;
  const frame::Clock& clock_;
  const bool has_quotas_;
  Mutex mutex_;
  frame::Clock::TimePoint looked_ GUARDED_BY(mutex_);
  std::uint64_t free_ GUARDED_BY(mutex_) = 0;  ///< bytes, then
};

}  // namespace bloscfs::fs
