#include "fs/view/block_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/request_limits.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxGhosts = 1024;  // per shard
constexpr std::uint8_t kMaxUses = 3;
/// New values may hold one part in so many before they are the first to go.
constexpr std::size_t kShareOfNew = 10;
/// Blocks that the kernel has may hold this part of the budget, and at least so much, since workers
/// who read ahead for the same request may still come to them; but never more than this part.
constexpr std::size_t kShareOfKernel = 64;
constexpr std::size_t kLeastOfKernel = std::size_t{2} << 20;
constexpr std::size_t kMostShareOfKernel = 4;
/// What went to the kernel within so many bytes is not read ahead again: other readers of the file,
/// whom the kernel serves, had asked for it as well.
constexpr std::size_t kRecentlyGiven = std::size_t{64} << 20;
/// So many small reads of what the kernel was given show that it does not keep it.
constexpr int kManySmallReads = 64;
/// What only small reads wanted may hold so much, but only one part in so many.
constexpr std::size_t kMostOfSmallReads = std::size_t{2} << 20;
constexpr std::size_t kShareOfSmallReads = 8;
/// Uses closer together than this part of the capacity, in bytes made meanwhile, count as one.
constexpr std::size_t kOneUse = 8;
/// What open files may hold beside half of the budget.
constexpr std::size_t kHeldBesides = std::size_t{16} << 20;
/// Values in use that are passed over in a row before the search ends: there may be very many.
constexpr int kMaxPassedOver = 8;
/// Work below this size needs no permit: a few readers at once do not matter.
constexpr std::int64_t kSmallWork = std::int64_t{2} << 20;
/// How soon who waits for others notices that nobody waits for him.
constexpr std::chrono::milliseconds kBetweenChecks{100};

}  // namespace

std::size_t CacheKeyHash::operator()(const CacheKey& key) const noexcept {
  std::uint64_t h = key.content * 0x9E3779B97F4A7C15u;
  h ^= static_cast<std::uint64_t>(key.item) + 0x7F4A7C15u + (h << 6) + (h >> 2);
  h *= 0xBF58476D1CE4E5B9u;
  h ^= (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.block)) << 8) |
       static_cast<std::uint64_t>(key.kind);
  h *= 0x94D049BB133111EBu;
  return static_cast<std::size_t>(h ^ (h >> 31));
}

BlockCache::BlockCache(std::size_t capacity, PagePool& pages, Stats& stats)
    : capacity_(capacity),
      kernel_capacity_(std::max(capacity / kShareOfKernel,
                                std::min(kLeastOfKernel, capacity / kMostShareOfKernel))),
      small_reads_capacity_(std::min(kMostOfSmallReads, capacity / kShareOfSmallReads)),
      pages_(pages),
      stats_(stats),
      held_(capacity / 2 + kHeldBesides) {}

void BlockCache::RecentlyGiven::add(std::size_t hash, std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (!hashes_.insert(hash).second) return;
  order_.emplace_back(hash, bytes);
  bytes_ += bytes;
  while (bytes_ > kRecentlyGiven) {
    hashes_.erase(order_.front().first);
    bytes_ -= order_.front().second;
    order_.pop_front();
  }
}

bool BlockCache::RecentlyGiven::contains(std::size_t hash) {
  const MutexLock lock(mutex_);
  return hashes_.count(hash) != 0;
}

void BlockCache::RecentlyGiven::read(std::size_t hash, Purpose purpose) {
  const MutexLock lock(mutex_);
  if (hashes_.erase(hash) == 0) return;
  if (purpose == Purpose::small_read && ++small_reads_ < kManySmallReads) return;
  small_reads_ = 0;
  hashes_.clear();
  order_.clear();
  bytes_ = 0;
}

bool BlockCache::lacks(const CacheKey& key) {
  const std::size_t hash = CacheKeyHash{}(key);
  Shard& shard = shards_[hash % kShards];
  const MutexLock lock(shard.mutex);
  return shard.entries.count(key) == 0 && !recently_given_.contains(hash);
}

BlockCache::Value BlockCache::get_any(const CacheKey& key, std::int64_t working_memory,
                                      Purpose purpose, const std::function<Made()>& make) {
  const std::size_t hash = CacheKeyHash{}(key);
  Shard& shard = shards_[hash % kShards];
  for (;;) {
    const MutexLock lock(shard.mutex);
    if (const auto found = shard.entries.find(key); found != shard.entries.end()) {
      Entry& there = found->second;
      const std::shared_ptr<Pending> pending = there.pending;
      if (pending) TurnAtNeed::need();
      stats_.cache_hits++;
      count_use(there, purpose);
      if (!pending) return there.value;
      if (auto value = wait_for(shard, *pending)) return *std::move(value);
      continue;
    }
    if (purpose == Purpose::readahead && recently_given_.contains(hash)) return nullptr;
    TurnAtNeed::need();
    Entry& entry = shard.entries[key];
    entry.key = key;
    entry.unread = purpose == Purpose::readahead;
    entry.pending = std::make_shared<Pending>();
    break;
  }
  stats_.cache_misses++;
  if (purpose != Purpose::readahead) recently_given_.read(hash, purpose);
  const auto working = static_cast<std::size_t>(working_memory);
  try {
    check_affordable(working);
    reserve(working);
    Made made;
    try {
      made = make();
    } catch (...) {
      release(working);
      throw;
    }
    used_ += made.charge;
    release(working);
    Value value = made.value;
    finish(shard, key, hash, purpose, std::move(made));
    keep_within(Place::small_reads, small_reads_capacity_);
    while (used_ > capacity_ && evict_one()) {
    }
    return value;
  } catch (...) {
    fail(shard, key);
    throw;
  }
}

BlockCache::Value BlockCache::find_any(const CacheKey& key, Purpose purpose) {
  Shard& shard = shards_[CacheKeyHash{}(key) % kShards];
  const MutexLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end() || found->second.pending) return nullptr;
  stats_.cache_hits++;
  count_use(found->second, purpose);
  return found->second.value;
}

void BlockCache::count_use(Entry& entry, Purpose purpose) const {
  if (purpose == Purpose::readahead) return;
  // A reader that comes to what was read ahead for it, and passes through it in small steps, uses
  // it once.
  if (std::exchange(entry.unread, false)) entry.touched = clock_;
  if (entry.pending || clock_ - entry.touched < capacity_ / kOneUse) return;
  entry.touched = clock_;
  if (entry.uses < kMaxUses) entry.uses++;
}

/// nullopt where it was not made because the request that did so has ended.
std::optional<BlockCache::Value> BlockCache::wait_for(Shard& shard, const Pending& pending) {
  while (!pending.done) {
    shard.made.wait_for(shard.mutex, kBetweenChecks);
    RequestLimits::check();
  }
  try {
    if (pending.error) std::rethrow_exception(pending.error);
  } catch (const RequestEnded&) {
    return std::nullopt;
  }
  return pending.value;
}

void BlockCache::finish(Shard& shard, const CacheKey& key, std::size_t hash, Purpose purpose,
                        Made made) {
  const MutexLock lock(shard.mutex);
  Entry& entry = shard.entries.at(key);
  entry.value = std::move(made.value);
  entry.charge = made.charge;
  entry.touched = clock_ += made.charge;
  entry.pending->value = entry.value;
  entry.pending->done = true;
  entry.pending.reset();
  const Place place = purpose == Purpose::small_read ? Place::small_reads : Place::small;
  put(shard, entry, shard.ghosts.erase(hash) != 0 ? Place::main : place);
  stats_.cache_bytes += entry.charge;
  shard.made.notify_all();
}

void BlockCache::fail(Shard& shard, const CacheKey& key) {
  const MutexLock lock(shard.mutex);
  const auto position = shard.entries.find(key);
  position->second.pending->error = std::current_exception();
  position->second.pending->done = true;
  shard.entries.erase(position);
  shard.made.notify_all();
}

void BlockCache::check_affordable(std::size_t working) const {
  if (working > capacity_ / 2)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("needs {} bytes of memory, more than half of cache_size {}: "
                                   "mount with a larger cache_size",
                                   working, capacity_));
}

bool BlockCache::LargeWork::is_large(std::int64_t bytes) { return bytes > kSmallWork; }

BlockCache::LargeWork::LargeWork(BlockCache& cache, std::int64_t bytes)
    : cache_(cache), bytes_(is_large(bytes) ? static_cast<std::size_t>(bytes) : 0) {
  if (bytes_ == 0) return;
  cache_.check_affordable(bytes_);
  const MutexLock lock(cache_.large_mutex_);
  while (cache_.large_work_ + bytes_ > cache_.capacity_ / 2) {
    TurnAtNeed::need();
    cache_.large_freed_.wait_for(cache_.large_mutex_, kBetweenChecks);
    RequestLimits::check();
  }
  cache_.large_work_ += bytes_;
}

BlockCache::LargeWork::~LargeWork() {
  if (bytes_ == 0) return;
  const MutexLock lock(cache_.large_mutex_);
  cache_.large_work_ -= bytes_;
  cache_.large_freed_.notify_all();
}

BlockCache::Held::Held(BlockCache& cache, std::size_t bytes)
    : cache_(cache), bytes_(bytes), part_(cache.held_.take(bytes)) {
  if (!part_) frame::throw_errno(ENOMEM, "too many files with large headers are open");
  cache_.reserve(bytes_);
}

BlockCache::Held::~Held() { cache_.release(bytes_); }

void BlockCache::charge(std::size_t before, std::size_t after) {
  if (after > before)
    reserve(after - before);
  else
    release(before - after);
}

void BlockCache::reserve(std::size_t bytes) {
  used_ += bytes;
  while (used_ > capacity_ && evict_one()) {
  }
}

void BlockCache::release(std::size_t bytes) { used_ -= bytes; }

std::size_t BlockCache::bytes_in(Place place) const {
  std::size_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.queues[static_cast<std::size_t>(place)].bytes;
  return bytes;
}

bool BlockCache::evict_one() {
  for (const Place place : {Place::kernel_has, Place::small_reads})
    if (bytes_in(place) > 0 && evict_from_fullest(place)) return true;
  const std::size_t fresh = bytes_in(Place::small);
  const bool new_first = fresh * kShareOfNew > fresh + bytes_in(Place::main);
  const Place first = new_first ? Place::small : Place::main;
  const Place second = new_first ? Place::main : Place::small;
  return evict_from_fullest(first) || evict_from_fullest(second);
}

bool BlockCache::evict_from_fullest(Place place) {
  const auto fill = [place](const Shard& shard) {
    return shard.queues[static_cast<std::size_t>(place)].bytes.load();
  };
  const auto fullest =
      std::max_element(shards_.begin(), shards_.end(),
                       [&](const Shard& a, const Shard& b) { return fill(a) < fill(b); });
  if (evict_from(*fullest, place)) return true;
  return std::any_of(shards_.begin(), shards_.end(),
                     [&](Shard& shard) { return evict_from(shard, place); });
}

void BlockCache::put(Shard& shard, Entry& entry, Place place) {
  Queue& queue = shard.queues[static_cast<std::size_t>(place)];
  entry.place = place;
  queue.entries.push_back(entry);
  queue.bytes += entry.charge;
}

void BlockCache::take_out(Shard& shard, Entry& entry) {
  Queue& queue = shard.queues[static_cast<std::size_t>(entry.place)];
  queue.entries.erase(queue.entries.iterator_to(entry));
  queue.bytes -= entry.charge;
}

bool BlockCache::evict_from(Shard& shard, Place place) {
  const MutexLock lock(shard.mutex);
  auto& entries = shard.queues[static_cast<std::size_t>(place)].entries;
  for (int passed_over = 0; passed_over < kMaxPassedOver && !entries.empty();) {
    Entry& entry = entries.front();
    take_out(shard, entry);
    if (entry.uses > 0) {
      entry.uses = place == Place::main ? static_cast<std::uint8_t>(entry.uses - 1) : 0;
      put(shard, entry, Place::main);
    } else if (entry.value.use_count() > 1) {
      put(shard, entry, place);
      passed_over++;
    } else {
      const std::size_t hash = CacheKeyHash{}(entry.key);
      if (place != Place::main) remember_ghost(shard, hash);
      if (place == Place::kernel_has) recently_given_.add(hash, entry.charge);
      drop(shard, entry);
      return true;
    }
  }
  return false;
}

void BlockCache::given_to_kernel(const CacheKey& key) {
  Shard& shard = shards_[CacheKeyHash{}(key) % kShards];
  {
    const MutexLock lock(shard.mutex);
    const auto position = shard.entries.find(key);
    if (position == shard.entries.end() || position->second.pending) return;
    Entry& entry = position->second;
    if (entry.place == Place::main) return;
    take_out(shard, entry);
    put(shard, entry, Place::kernel_has);
  }
  keep_within(Place::kernel_has, kernel_capacity_);
}

void BlockCache::keep_within(Place place, std::size_t most) {
  while (bytes_in(place) > most && evict_from_fullest(place)) {
  }
}

void BlockCache::drop(Shard& shard, const Entry& entry) {
  used_ -= entry.charge;
  stats_.cache_bytes -= entry.charge;
  stats_.cache_evictions++;
  shard.entries.erase(CacheKey(entry.key));
}

void BlockCache::remember_ghost(Shard& shard, std::size_t hash) {
  if (!shard.ghosts.insert(hash).second) return;
  shard.ghost_order.push_back(hash);
  if (shard.ghost_order.size() <= kMaxGhosts) return;
  shard.ghosts.erase(shard.ghost_order.front());
  shard.ghost_order.pop_front();
}

void BlockCache::forget(const CacheKey& key) {
  Shard& shard = shards_[CacheKeyHash{}(key) % kShards];
  const MutexLock lock(shard.mutex);
  const auto position = shard.entries.find(key);
  if (position == shard.entries.end() || position->second.pending) return;
  Entry& entry = position->second;
  take_out(shard, entry);
  used_ -= entry.charge;
  stats_.cache_bytes -= entry.charge;
  shard.entries.erase(position);
}

void BlockCache::shrink(std::size_t keep) {
  while (used_ > keep && evict_one()) {
  }
}

}  // namespace bloscfs::fs
