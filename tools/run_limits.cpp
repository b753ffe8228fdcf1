#include "tools/run_limits.hpp"

#include <algorithm>

#include <malloc.h>

namespace bloscfs::tools {
namespace {

/// Larger allocations go back to the system when they are freed. Otherwise the heap
/// could keep kMostCache for the pages of an index, and again for the blocks that replace them in
/// the cache. This costs page faults, so it applies only to a large cache.
constexpr int kLeastMapped = 1 << 20;

}  // namespace

RunLimits::RunLimits() : cache_(kUsualCache, pages_, stats_, fs::LargestWork::runs_alone) {}

void RunLimits::keep_row(std::int64_t bytes) {
  // In addition to the row, there must be room for blocks that are read ahead, and for the index.
  constexpr std::size_t kOutsideCache = kUsualCache / 2;
  const std::size_t wanted =
      kOutsideCache + std::min(kMostCache - kOutsideCache, static_cast<std::size_t>(bytes));
  const fs::MutexLock lock(growth_mutex_);
  if (wanted <= cache_.budget().capacity()) return;
  ::mallopt(M_MMAP_THRESHOLD, kLeastMapped);
  cache_.grow(wanted);
}

}  // namespace bloscfs::tools
