#pragma once
// The mount's cache of what is made from containers: decoded blocks, index pages, opened chunks.
//
// Whatever is asked for by several readers at once is made once. Which value goes next says
// EvictionPolicy, how much there may be MemoryBudget. Values are shared_ptr, and none that is in
// use goes: eviction never hurts a reader, and gives memory back whenever it says so.

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

/// Thread-safe. A hit takes one lock of sixteen; the order in which values go has a lock of its
/// own, for those who make, drop or give.
class BlockCache {
 public:
  /// `capacity` in bytes; `pages` and `stats` outlive the cache.
  BlockCache(std::size_t capacity, PagePool& pages, Stats& stats,
             LargestWork largest = LargestWork::is_refused)
      : BlockCache(capacity, pages, stats, EvictionRules(capacity), largest) {}
  BlockCache(std::size_t capacity, PagePool& pages, Stats& stats, const EvictionRules& rules,
             LargestWork largest = LargestWork::is_refused);

  /// Where the memory of blocks comes from.
  PagePool& pages() const { return pages_; }
  MemoryBudget& budget() { return budget_; }

  /// Bytes that keeping a value takes besides the value itself.
  static constexpr std::size_t kEntryCost = 256;

  /// The value under `key`, made by `make` if it is absent. While `make` runs, `working_memory`
  /// bytes are taken from the budget; afterwards the value's own memory() and kEntryCost are.
  /// Throws codec::Error(too_large) when that is more than half of the budget, and whatever `make`
  /// throws, to everyone who waits for the value, but for RequestEnded; failures are not kept.
  /// NoSlot where the value is not there, and there is no slot to make it or wait for it. Null only
  /// for readahead of what lacks() has become false for.
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

  /// The value under `key` if it is there, which counts as a use of it.
  template <typename T>
  std::shared_ptr<const T> find(const CacheKey& key, Purpose purpose) {
    return std::static_pointer_cast<const T>(find_any(key, purpose));
  }

  /// All of a value has gone to the kernel, which keeps it: it is hardly needed here any more.
  void given_to_kernel(const CacheKey& key) EXCLUDES(order_mutex_);

  /// False if the value is there or being made, or went to the kernel a moment ago: then nobody
  /// needs to read it ahead. Counts neither as hit nor as miss.
  bool lacks(const CacheKey& key);

  /// Drops a value, which is not being made now.
  void forget(const CacheKey& key) EXCLUDES(order_mutex_);

  /// Takes more from here on: `capacity` in bytes is larger than before.
  void grow(std::size_t capacity) EXCLUDES(order_mutex_);

  /// Drops what nobody uses until at most `keep` bytes of the budget are taken.
  void shrink(std::size_t keep) { budget_.shrink(keep); }
  /// Nobody has asked for anything for a while: gives most of the memory back to the system.
  void rest();

 private:
  using Value = std::shared_ptr<const void>;
  using Queue = EvictionPolicy::Queue;
  struct Made {
    Value value;
    std::size_t size = 0;
  };
  /// What the readers that wait for one value share.
  struct Pending {
    bool done = false;
    Value value;
    std::exception_ptr error;
  };
  /// Guarded by its shard's mutex, but for the order, which is the policy's; the shard holds it
  /// from when its making begins, the policy from when it is made.
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
  /// What is there, or was waited for; nullopt where this thread is to make it, and has an entry
  /// for that.
  std::optional<Value> find_or_begin(Request& request, Shard& shard, const CacheKey& key,
                                     std::size_t hash, Purpose purpose) EXCLUDES(shard.mutex);
  /// nullopt where it was not made because the request that did so has ended.
  static std::optional<Value> wait_for(Request& request, Shard& shard, const Pending& pending)
      REQUIRES(shard.mutex);
  Made make_within_budget(std::int64_t working_memory, const std::function<Made()>& make);
  void finish(Shard& shard, const CacheKey& key, Purpose purpose, const Made& made)
      EXCLUDES(order_mutex_);
  void fail(Shard& shard, const CacheKey& key);
  /// Drops one value that nobody uses; false if those that it looked at are all in use.
  bool drop_one() EXCLUDES(order_mutex_);
  /// Drops values of a queue until it is no longer than it may be.
  void shorten(Queue queue) EXCLUDES(order_mutex_);
  /// The value of `queue` that goes next, with its entry gone; null if the first `most` are all in
  /// use. Whoever gets it lets go of it without a lock.
  Value drop_from(Queue queue, int most) REQUIRES(order_mutex_);
  /// The value of an entry that the policy has let go of, null if it is in use.
  Value take_unused(EvictionItem& item) REQUIRES(order_mutex_);

  static constexpr std::size_t kShards = 16;
  PagePool& pages_;
  Stats& stats_;
  MemoryBudget budget_;
  RecentlyGiven recently_given_;
  UseCounter uses_;
  std::array<Shard, kShards> shards_;
  Mutex order_mutex_{LockLevel::cache};             ///< comes before that of a shard
  EvictionPolicy policy_ GUARDED_BY(order_mutex_);  ///< lets go of entries before they are gone
};

}  // namespace bloscfs::fs
