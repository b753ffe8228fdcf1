#pragma once
// The mount's cache of what is made from containers: decoded blocks, index pages, opened chunks.
//
// If several readers ask for the same value at once, it is made once. EvictionPolicy decides which
// value is evicted next, and MemoryBudget how much memory there is. Values are shared_ptr, and a
// value in use is never evicted. So eviction never disturbs a reader, and always frees memory.

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "fs/support/page_pool.hpp"
#include "fs/support/request.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/eviction_policy.hpp"
#include "fs/view/memory_budget.hpp"
#include "fs/view/recently_given.hpp"

namespace bloscfs::fs {

enum class CacheKind : std::uint8_t { block, opened_chunk, index_page, chunk_map, checksums };

struct CacheKey {
  std::uint64_t content = 0;  ///< identity of one state of one file
  std::int64_t item = 0;      ///< chunk or page number
  std::int32_t block = 0;
  CacheKind kind = CacheKind::block;
  bool operator==(const CacheKey&) const = default;
};

struct CacheKeyHash {
  std::size_t operator()(const CacheKey& key) const noexcept;
};

/// Thread-safe. A hit takes one of sixteen locks. The order of eviction has a lock of its own,
/// which is taken to make, drop, or give a value to the kernel.
class BlockCache {
 public:
  /// `capacity` in bytes; `pages` and `stats` outlive the cache.
  BlockCache(std::size_t capacity, PagePool& pages, Stats& stats,
             LargestWork largest = LargestWork::is_refused)
      : BlockCache(capacity, pages, stats, EvictionRules(capacity), largest) {}
  BlockCache(std::size_t capacity, PagePool& pages, Stats& stats, const EvictionRules& rules,
             LargestWork largest = LargestWork::is_refused);

  /// The memory of blocks comes from here.
  PagePool& pages() const { return pages_; }
  MemoryBudget& budget() { return budget_; }

  /// Bytes that the cache needs for a value in addition to the value itself.
  static constexpr std::size_t kEntryCost = 256;

  /// Returns the value under `key`. If the cache lacks it, calls `make`. While `make` runs,
  /// `working_memory` bytes are taken from the budget; afterwards the value's memory() and
  /// kEntryCost. Throws codec::Error(too_large) if `working_memory` is more than half of the
  /// budget. If `make` throws, all requests that wait for the value get the error, which is not
  /// cached. Only RequestEnded is not passed on: then a waiting request makes the value. Throws
  /// NoSlot if the value is absent and no slot is free to make it or to wait for it. Returns null
  /// only for readahead, if the kernel was given the value a moment ago.
  template <typename T, typename Make>
  std::shared_ptr<const T> get(Request& request, const CacheKey& key, std::int64_t working_memory,
                               Make make, Purpose purpose = Purpose::read) {
    auto value = get_any(request, key, working_memory, purpose, [&make]() -> Made {
      std::shared_ptr<const T> made = make();
      const std::size_t size = made->memory() + kEntryCost;
      return {std::move(made), size};
    });
    return std::static_pointer_cast<const T>(std::move(value));
  }

  /// Returns the value under `key` if it is cached, which counts as a use; null otherwise.
  template <typename T>
  std::shared_ptr<const T> find(const CacheKey& key, Purpose purpose) {
    return std::static_pointer_cast<const T>(find_any(key, purpose));
  }

  /// Call this when all bytes of a value have gone to the kernel's page cache. The cache then
  /// evicts the value early, since it is hardly needed any more.
  void given_to_kernel(const CacheKey& key) EXCLUDES(order_mutex_);

  /// False if the value is cached, is being made, or went to the kernel a moment ago. Then it need
  /// not be read ahead. Counts neither as hit nor as miss.
  bool lacks(const CacheKey& key);

  /// Drops a value, unless it is being made.
  void forget(const CacheKey& key) EXCLUDES(order_mutex_);

  /// Enlarges the cache: `capacity`, in bytes, is larger than before.
  void grow(std::size_t capacity) EXCLUDES(order_mutex_);

  /// Evicts unused values until at most `keep` bytes of the budget are taken.
  void shrink(std::size_t keep) { budget_.shrink(keep); }
  /// Gives most of the memory back to the system. Called when the cache has been idle for a while.
  void rest();

 private:
  using Value = std::shared_ptr<const void>;
  using Queue = EvictionPolicy::Queue;
  struct Made {
    Value value;
    std::size_t size = 0;
  };
  /// Shared by the readers that wait for one value.
  struct Pending {
    bool done = false;
    Value value;
    std::exception_ptr error;
  };
  /// Guarded by the mutex of its shard, except for its place in the queues, which belongs to the
  /// policy. The shard has the entry as soon as a thread begins to make the value. The policy has
  /// it only after the value was made.
  struct Entry : EvictionItem {
    CacheKey key;
    Value value;
    std::shared_ptr<Pending> pending;  ///< set while the value is being made
  };
  struct Shard {
    Mutex mutex;
    CondVar made;
    std::unordered_map<CacheKey, Entry, CacheKeyHash> entries GUARDED_BY(mutex);
  };

  Shard& shard_of(std::size_t hash) { return shards_[hash % kShards]; }
  Value get_any(Request& request, const CacheKey& key, std::int64_t working_memory, Purpose purpose,
                const std::function<Made()>& make) EXCLUDES(order_mutex_);
  Value find_any(const CacheKey& key, Purpose purpose);
  /// Returns the value, perhaps after waiting for it. Returns nullopt if this thread must make the
  /// value; then the cache has an entry for it.
  std::optional<Value> find_or_begin(Request& request, Shard& shard, const CacheKey& key,
                                     std::size_t hash, Purpose purpose) EXCLUDES(shard.mutex);
  /// Returns nullopt if the value was not made because the request that was making it has ended.
  static std::optional<Value> wait_for(Request& request, Shard& shard, const Pending& pending)
      REQUIRES(shard.mutex);
  Made make_within_budget(std::int64_t working_memory, const std::function<Made()>& make);
  void finish(Shard& shard, const CacheKey& key, Purpose purpose, const Made& made)
      EXCLUDES(order_mutex_);
  void fail(Shard& shard, const CacheKey& key);
  /// Evicts one unused value. Returns false if all values that it looked at are in use.
  bool drop_one() EXCLUDES(order_mutex_);
  /// Evicts unused values of a queue that exceeds its limit.
  void shorten(Queue queue) EXCLUDES(order_mutex_);
  /// Evicts the next value of `queue`, and returns it; null if the first `most` values are all in
  /// use. The caller must destroy the value without holding a lock.
  Value drop_from(Queue queue, int most) REQUIRES(order_mutex_);
  /// Removes an entry that the policy has given up, and returns its value; null if the value is in
  /// use.
  Value take_unused(EvictionItem& item) REQUIRES(order_mutex_);

  static constexpr std::size_t kShards = 16;
  PagePool& pages_;
  Stats& stats_;
  MemoryBudget budget_;
  RecentlyGiven recently_given_;
  UseCounter uses_;
  std::array<Shard, kShards> shards_;
  Mutex order_mutex_{LockLevel::cache};             ///< taken before a shard's mutex
  EvictionPolicy policy_ GUARDED_BY(order_mutex_);  ///< drops an item before its entry is destroyed
};

}  // namespace bloscfs::fs
