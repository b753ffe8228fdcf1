#include "fs/mount/attribute_cache.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/container_hash/hash.hpp>

namespace bloscfs::fs {
namespace {

/// Of an entry beside what it holds: list, table and their allocations, roughly.
constexpr std::size_t kListedCost = 256;
constexpr std::size_t kPartOfCache = 16;

}  // namespace

std::size_t AttributeCache::Hash::operator()(const AttributeKey& key) const {
  std::size_t hash = 0;
  boost::hash_combine(hash, key.file.stamp.device);
  boost::hash_combine(hash, key.file.stamp.inode);
  boost::hash_combine(hash, key.file.ctime_ns);
  boost::hash_combine(hash, key.snapshot);
  return hash;
}

AttributeCache::AttributeCache(MemoryBudget& budget)
    : limit_(std::min(kMaxMemory, budget.capacity() / kPartOfCache)), memory_(budget) {}

std::shared_ptr<const FrameAttributes> AttributeCache::find(const AttributeKey& key) {
  const MutexLock lock(mutex_);
  const Known* const known = known_.find(key);
  return known ? known->found : nullptr;
}

void AttributeCache::remember(const AttributeKey& key,
                              std::shared_ptr<const FrameAttributes> found) {
  const std::size_t memory = found->memory() + kListedCost;
  if (memory > limit_) return;
  const MutexLock lock(mutex_);
  if (const auto former = known_.take(key)) memory_.resize(memory_.size() - former->memory);
  while (memory_.size() + memory > limit_)
    memory_.resize(memory_.size() - known_.take_oldest()->memory);
  memory_.resize(memory_.size() + memory);
  static_cast<void>(known_.put(key, {std::move(found), memory}));
}

}  // namespace bloscfs::fs
