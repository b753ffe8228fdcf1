#include "fs/view/block_cache.hpp"

#include <algorithm>
#include <utility>

#include <malloc.h>

#include "frame/store/wait_context.hpp"

namespace bloscfs::fs {
namespace {

/// How many values in use a search passes over before it ends. There may be very many values in
/// use, as in block_cache/evicts_quickly_beside_many_values_in_use. Without a limit, each search
/// would pass over all of them, and the total time would grow with their square.
constexpr int kMostPassedOver = 64;
/// The same limit for shorten(), since no thread waits for the memory that it frees. Values that
/// are in use now are evicted by one of the next searches, which come soon.
constexpr int kPassedOverAtOnce = 4;

/// rest() keeps one part in this many of the cached bytes.
constexpr std::uint64_t kKeptAtRest = 4;

/// The pool's spare memory is charged with at most one part in this many of the capacity.
constexpr std::size_t kPartForPages = 16;

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

BlockCache::BlockCache(std::size_t capacity, PagePool& pages, Stats& stats,
                       const EvictionRules& rules, LargestWork largest)
    : pages_(pages),
      stats_(stats),
      budget_(
          capacity, [this] { return drop_one(); }, largest),
      uses_(rules),
      policy_(rules, uses_) {
  stats_.cache_size = capacity;
  // The budget also pays for the pool's spare memory.
  budget_.take(std::min(pages.most_kept(), capacity / kPartForPages));
}

void BlockCache::grow(std::size_t capacity) {
  const EvictionRules rules(capacity);
  uses_.follow(rules);
  {
    const MutexLock order(order_mutex_);
    policy_.follow(rules);
  }
  budget_.grow(capacity);
  stats_.cache_size = capacity;
}

bool BlockCache::lacks(const CacheKey& key) {
  const std::size_t hash = CacheKeyHash{}(key);
  Shard& shard = shard_of(hash);
  {
    const MutexLock lock(shard.mutex);
    if (shard.entries.count(key) != 0) return false;
  }
  return !recently_given_.contains(hash);
}

BlockCache::Value BlockCache::get_any(Request& request, const CacheKey& key,
                                      std::int64_t working_memory, Purpose purpose,
                                      const std::function<Made()>& make) {
  const std::size_t hash = CacheKeyHash{}(key);
  Shard& shard = shard_of(hash);
  if (auto found = find_or_begin(request, shard, key, hash, purpose)) return *std::move(found);
  Made made;
  try {
    made = make_within_budget(working_memory, make);
  } catch (...) {
    fail(shard, key);
    throw;
  }
  finish(shard, key, purpose, made);
  shorten(Queue::small_reads);
  // All other values may have been in use while this one was made. Evict now what exceeds the
  // budget.
  budget_.shrink(budget_.capacity());
  return made.value;
}

std::optional<BlockCache::Value> BlockCache::find_or_begin(Request& request, Shard& shard,
                                                           const CacheKey& key, std::size_t hash,
                                                           Purpose purpose) {
  const bool reads_ahead = purpose == Purpose::readahead;
  const bool kernel_had_it = reads_ahead && recently_given_.contains(hash);
  {
    const MutexLock lock(shard.mutex);
    for (auto found = shard.entries.find(key); found != shard.entries.end();
         found = shard.entries.find(key)) {
      Entry& there = found->second;
      const std::shared_ptr<Pending> pending = there.pending;
      // Take a slot before anything is counted or changed. After NoSlot, the request is served
      // again from its beginning.
      if (pending) request.need_slot();
      stats_.cache_hits++;
      uses_.use(there, purpose);
      if (!pending) return there.value;
      // wait_for() returns no value if the request that was making it has ended, for example
      // because it was interrupted. Look again then, and perhaps make the value here.
      if (auto value = wait_for(request, shard, *pending)) return value;
    }
    // The kernel has these bytes from the reads of another reader. The reader for whom they would
    // be read ahead gets them from the kernel.
    if (kernel_had_it) return Value();
    request.need_slot();
    auto pending = std::make_shared<Pending>();
    Entry& entry = shard.entries[key];
    entry.key = key;
    entry.hash = hash;
    entry.unread = reads_ahead;
    entry.pending = std::move(pending);
  }
  stats_.cache_misses++;
  // If the kernel was given this value a moment ago, it has dropped the value since, and may have
  // dropped others.
  if (!reads_ahead) recently_given_.read(hash);
  return std::nullopt;
}

BlockCache::Made BlockCache::make_within_budget(std::int64_t working_memory,
                                                const std::function<Made()>& make) {
  const auto working = static_cast<std::size_t>(working_memory);
  budget_.require_affordable(working);
  MemoryBudget::Part part(budget_, working);
  Made made = make();
  // Turns the working memory into the value's memory, so that one of them is counted at any time.
  // The value's memory stays taken until the value is evicted.
  part.resize(made.size);
  part.release();
  return made;
}

BlockCache::Value BlockCache::find_any(const CacheKey& key, Purpose purpose) {
  Shard& shard = shard_of(CacheKeyHash{}(key));
  const MutexLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end() || found->second.pending) return nullptr;
  stats_.cache_hits++;
  uses_.use(found->second, purpose);
  return found->second.value;
}

std::optional<BlockCache::Value> BlockCache::wait_for(Request& request, Shard& shard,
                                                      const Pending& pending) {
  const frame::WaitMark mark(frame::WaitReason::other_request);
  while (!pending.done) {
    shard.made.wait_for(shard.mutex, frame::Interruption::kCheckInterval);
    request.check();
    // The thread that makes the value may be waiting for the network.
    if (!pending.done) frame::Interruption::before_wait();
  }
  try {
    if (pending.error) std::rethrow_exception(pending.error);
  } catch (const RequestEnded&) {
    return std::nullopt;
  }
  return pending.value;
}

void BlockCache::finish(Shard& shard, const CacheKey& key, Purpose purpose, const Made& made) {
  const MutexLock order(order_mutex_);
  const MutexLock lock(shard.mutex);
  Entry& entry = shard.entries.at(key);
  entry.value = made.value;
  entry.size = made.size;
  // Waiting readers take the value from here, because the entry may be evicted before they run.
  entry.pending->value = entry.value;
  entry.pending->done = true;
  entry.pending.reset();
  policy_.add(entry, purpose);
  stats_.cache_bytes += made.size;
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

bool BlockCache::drop_one() {
  Value dropped;
  const MutexLock order(order_mutex_);
  for (const Queue queue : policy_.order()) {
    dropped = drop_from(queue, kMostPassedOver);
    if (dropped) return true;
  }
  return false;
}

void BlockCache::shorten(Queue queue) {
  for (;;) {
    Value dropped;
    const MutexLock order(order_mutex_);
    if (!policy_.is_too_long(queue)) return;
    dropped = drop_from(queue, kPassedOverAtOnce);
    if (!dropped) return;
  }
}

BlockCache::Value BlockCache::drop_from(Queue queue, int most) {
  for (int looked_at = 0; looked_at < most; looked_at++) {
    EvictionItem* const item = policy_.next(queue);
    if (item == nullptr) return nullptr;
    const auto [hash, size] = std::pair(item->hash, item->size);
    if (Value value = take_unused(*item)) {
      budget_.give_back(size);
      stats_.cache_bytes -= size;
      stats_.cache_evictions++;
      policy_.remember(hash, queue);
      // Other readers of the file get these bytes from the kernel, so reading them ahead again
      // would be useless.
      if (queue == Queue::kernel_has) recently_given_.add(hash, size);
      return value;
    }
    // A value in use goes behind the others, so that the next search begins with one that may be
    // unused.
    policy_.put_back(*item);
  }
  return nullptr;
}

BlockCache::Value BlockCache::take_unused(EvictionItem& item) {
  auto& entry = static_cast<Entry&>(item);
  Shard& shard = shard_of(item.hash);
  const MutexLock lock(shard.mutex);
  // Readers take their pointer with the shard locked. So a value that is unused here stays unused
  // until its entry is gone.
  if (entry.value.use_count() > 1) return nullptr;
  Value value = std::move(entry.value);
  // Erase by a copy of the key, because the key is a part of the entry.
  shard.entries.erase(CacheKey(entry.key));
  return value;
}

void BlockCache::given_to_kernel(const CacheKey& key) {
  Shard& shard = shard_of(CacheKeyHash{}(key));
  {
    const MutexLock order(order_mutex_);
    const MutexLock lock(shard.mutex);
    const auto position = shard.entries.find(key);
    if (position == shard.entries.end() || position->second.pending) return;
    policy_.give_to_kernel(position->second);
  }
  shorten(Queue::kernel_has);
}

void BlockCache::forget(const CacheKey& key) {
  Shard& shard = shard_of(CacheKeyHash{}(key));
  Value forgotten;
  const MutexLock order(order_mutex_);
  const MutexLock lock(shard.mutex);
  const auto position = shard.entries.find(key);
  if (position == shard.entries.end() || position->second.pending) return;
  Entry& entry = position->second;
  policy_.remove(entry);
  forgotten = std::move(entry.value);
  budget_.give_back(entry.size);
  stats_.cache_bytes -= entry.size;
  shard.entries.erase(position);
}

void BlockCache::rest() {
  shrink(stats_.cache_bytes / kKeptAtRest);
  pages().trim();
  ::malloc_trim(0);
}

}  // namespace bloscfs::fs
