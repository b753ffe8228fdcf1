#include "fs/view/recently_given.hpp"

namespace bloscfs::fs {

void RecentlyGiven::add(std::size_t hash, std::size_t bytes) {
  const MutexLock lock(mutex_);
  values_.add(hash, bytes);
}

bool RecentlyGiven::contains(std::size_t hash) {
  const MutexLock lock(mutex_);
  return values_.contains(hash);
}

void RecentlyGiven::read(std::size_t hash) {
  const MutexLock lock(mutex_);
  if (values_.contains(hash)) values_.clear();
}

}  // namespace bloscfs::fs
