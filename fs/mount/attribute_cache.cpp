#include "fs/mount/attribute_cache.hpp"

#include <algorithm>
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
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->found;
}

void AttributeCache::remember(const AttributeKey& key,
                              std::shared_ptr<const FrameAttributes> found) {
  const std::size_t memory = found->memory() + kListedCost;
  if (memory > limit_) return;
  const MutexLock lock(mutex_);
  if (const auto known = by_key_.find(key); known != by_key_.end()) drop(known->second);
  while (memory_.size() + memory > limit_) drop(std::prev(entries_.end()));
  entries_.push_front({key, std::move(found), memory});
  by_key_[key] = entries_.begin();
  memory_.resize(memory_.size() + memory);
}

void AttributeCache::drop(Entries::iterator entry) {
  memory_.resize(memory_.size() - entry->memory);
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace bloscfs::fs
