#pragma once
// Values that were evicted after all of their bytes had gone to the kernel. Other readers of the
// file get the bytes from the kernel, so the values are not read ahead again.

#include <cstddef>

#include "fs/support/sync.hpp"
#include "fs/view/recent_hashes.hpp"

namespace bloscfs::fs {

/// Thread-safe. Remembers the last 64 MiB, by the hashes of their keys.
class RecentlyGiven {
 public:
  void add(std::size_t hash, std::size_t bytes) EXCLUDES(mutex_);
  bool contains(std::size_t hash) EXCLUDES(mutex_);
  /// Call this when a value is read. If the value is remembered, the kernel has dropped some of it,
  /// and may have dropped all others as well. Then everything is forgotten.
  void read(std::size_t hash) EXCLUDES(mutex_);

 private:
  /// Without this, eight readers of one file decode 13 % of blocks of 1 MiB twice, and 5 % of
  /// blocks of 128 KiB (`parallel` of tests/bench/run.sh). With 16, 64 and 128 MiB they decode none
  /// twice.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  Mutex mutex_;
  RecentHashes values_ GUARDED_BY(mutex_){kMostBytes};
};

}  // namespace bloscfs::fs
