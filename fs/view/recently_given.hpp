#pragma once
// What was dropped after all of it had gone to the kernel: other readers of the file, whom the
// kernel serves, had asked for it as well, so it is not read ahead again.

#include <cstddef>

#include "fs/support/sync.hpp"
#include "fs/view/recent_hashes.hpp"

namespace bloscfs::fs {

/// Thread-safe. Knows the last 64 MiB by the hashes of their keys.
class RecentlyGiven {
 public:
  void add(std::size_t hash, std::size_t bytes) EXCLUDES(mutex_);
  bool contains(std::size_t hash) EXCLUDES(mutex_);
  /// Somebody reads a value. Of one that is known here the kernel has given up something, and then
  /// it may have kept none of them: all are forgotten.
  void read(std::size_t hash) EXCLUDES(mutex_);

 private:
  /// Without any, eight that read one file decode 13 % of blocks of 1 MiB twice, and 5 % of 128 KiB
  /// (`parallel` of tests/bench/run.sh); with 16, 64 and 128 MiB none.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  Mutex mutex_;
  RecentHashes values_ GUARDED_BY(mutex_){kMostBytes};
};

}  // namespace bloscfs::fs
