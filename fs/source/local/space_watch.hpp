#pragma once
// Finds out whether SOURCE's filesystem has room for what waits for a commit.

#include <chrono>
#include <cstdint>

#include "frame/store/byte_source.hpp"
#include "frame/store/clock.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// True if the filesystem of a directory enforces quotas, or size limits of Btrfs subvolumes.
bool enforces_quotas(const frame::UniqueFd& directory);

/// Measures the free space of SOURCE's filesystem. After close(2) has returned 0, the file must not
/// fail for lack of space. So when space is scarce, the mount commits a file before it answers the
/// close, and the close reports the error. The size that counts is the compressed one. Free space
/// excludes the blocks reserved for root. Thread-safe.
class SpaceWatch {
 public:
  /// `stats` has the number of dirty bytes. All arguments outlive this object.
  SpaceWatch(const SourceRoot& root, bool has_quotas, const Stats& stats,
             const frame::Clock& clock = frame::system_clock())
      : root_(root), stats_(stats), clock_(clock), has_quotas_(has_quotas) {}

  /// True if less space is free than the dirty bytes and a reserve need. Also true if quotas are
  /// enforced: the kernel does not tell the daemon how much of a quota another user has left.
  bool is_scarce();
  /// Throws ENOSPC if only the space reserved for root is left.
  void require_unreserved() const;
  /// Throws ENOSPC if there is no room for `size` more bytes.
  void require(std::int64_t size) const;

 private:
  std::uint64_t free_bytes() const;

  const SourceRoot& root_;
  const Stats& stats_;
  const frame::Clock& clock_;
  const bool has_quotas_;
  Mutex mutex_;
  frame::Clock::TimePoint looked_ GUARDED_BY(mutex_);
  std::uint64_t free_ GUARDED_BY(mutex_) = 0;  ///< free bytes at the time `looked_`
};

}  // namespace bloscfs::fs
