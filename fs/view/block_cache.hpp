#pragma once
// The mount's one memory budget: decoded blocks, index pages, opened chunks.
//
// Thread-safe. Whatever is asked for by several readers at once is made once. Eviction follows
// S3-FIFO (small queue, main queue, ghosts), so that one pass over a large file does not push out
// what is used again. What the kernel's page cache has as a whole gives way before all that, and so
// does a large value of which only a little was wanted; they hold only small parts of the budget,
// so that their memory is used again: fresh memory costs as much as decoding into it. Values are
// shared_ptr: eviction never hurts a reader.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "fs/support/fair_share.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Why a value is wanted: to be read now, or only a little of it, or because a sequential reader
/// will come to it.
enum class Purpose : std::uint8_t { read, small_read, readahead };

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

class BlockCache {
 public:
  /// `capacity` in bytes; `pages` and `stats` outlive the cache.
  BlockCache(std::size_t capacity, PagePool& pages, Stats& stats);

  std::size_t capacity() const { return capacity_; }
  /// Where the memory of blocks comes from.
  PagePool& pages() const { return pages_; }

  /// Bytes that keeping a value takes besides the value itself.
  static constexpr std::size_t kEntryCost = 256;

  /// The value under `key`, made by `make` if it is absent. While `make` runs, `working_memory`
  /// bytes are taken from the budget; afterwards the value's own memory() and kEntryCost are.
  /// Throws codec::Error(too_large) when that is more than half of the budget, and whatever `make`
  /// throws, to everyone who waits for the value, but for RequestEnded; failures are not kept.
  /// NoTurn where the value is not there, and the thread's request has no turn to make it or wait
  /// for it. Null only for readahead of what lacks() has become false for.
  template <typename T, typename Make>
  std::shared_ptr<const T> get(const CacheKey& key, std::int64_t working_memory, Make make,
                               Purpose purpose = Purpose::read) {
    auto value = get_any(key, working_memory, purpose, [&make]() -> Made {
      std::shared_ptr<const T> made = make();
      const std::size_t charge = made->memory() + kEntryCost;
      return {std::move(made), charge};
    });
    return std::static_pointer_cast<const T>(std::move(value));
  }

  /// The value under `key` if it is there, which counts as a use of it.
  template <typename T>
  std::shared_ptr<const T> find(const CacheKey& key, Purpose purpose) {
    return std::static_pointer_cast<const T>(find_any(key, purpose));
  }

  /// Waits until `bytes` of large working memory are free, and takes them while the permit lives.
  /// All permits together stay within half of the budget, so that making large values never
  /// waits for other large values. Hold at most one per thread, and take it before get(). NoTurn
  /// where the thread's request has no turn to wait in.
  class LargeWork {
   public:
    /// True if that many bytes need a permit at all.
    static bool is_large(std::int64_t bytes);
    LargeWork(BlockCache& cache, std::int64_t bytes);
    ~LargeWork();
    LargeWork(const LargeWork&) = delete;
    LargeWork& operator=(const LargeWork&) = delete;

   private:
    BlockCache& cache_;
    std::size_t bytes_;
  };

  /// Takes a part of the budget for what an open file keeps outside of the cache, while it lives.
  class Held {
   public:
    /// Throws std::system_error(ENOMEM) when what the user has opened holds too much already.
    Held(BlockCache& cache, std::size_t bytes);
    Held(Held&& other) noexcept
        : cache_(other.cache_),
          bytes_(std::exchange(other.bytes_, std::size_t{0})),
          part_(std::move(other.part_)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    BlockCache& cache_;
    std::size_t bytes_;
    FairShare::Part part_;
  };

  /// Takes from the budget what uncommitted bytes outside of the cache have become, in bytes.
  void charge(std::size_t before, std::size_t after);

  /// All of a value has gone to the kernel, which keeps it: it is hardly needed here any more.
  void given_to_kernel(const CacheKey& key);

  /// False if the value is there or being made, or went to the kernel a moment ago: then nobody
  /// needs to read it ahead. Counts neither as hit nor as miss.
  bool lacks(const CacheKey& key);

  /// Drops a value, which is not being made now.
  void forget(const CacheKey& key);

  /// Drops what nobody uses until at most `keep` bytes are held.
  void shrink(std::size_t keep);

 private:
  using Value = std::shared_ptr<const void>;
  struct Made {
    Value value;
    std::size_t charge;
  };
  /// What the readers that wait for one value share.
  struct Pending {
    bool done = false;
    Value value;
    std::exception_ptr error;
  };
  enum class Place : std::uint8_t { small, main, kernel_has, small_reads };
  static constexpr std::size_t kPlaces = 4;
  struct Entry : boost::intrusive::list_base_hook<> {
    CacheKey key;
    Value value;
    std::size_t charge = 0;
    std::uint64_t touched = 0;  ///< clock_ at the last use that counted
    std::uint8_t uses = 0;
    Place place = Place::small;
    bool unread = false;               ///< made by readahead, and not read since
    std::shared_ptr<Pending> pending;  ///< set while the value is being made
  };
  struct Queue {
    boost::intrusive::list<Entry> entries;
    /// Changed under the shard's mutex; read without it to find the fullest shard.
    std::atomic<std::size_t> bytes{0};
  };
  /// Keys of what was dropped after all of it had gone to the kernel, of the last few MiB.
  class RecentlyGiven {
   public:
    void add(std::size_t hash, std::size_t bytes) EXCLUDES(mutex_);
    bool contains(std::size_t hash) EXCLUDES(mutex_);
    /// Somebody reads that value again, so that the kernel has not kept it: then it may have kept
    /// none of them. A few small reads tell nothing: it may give up single pages at any time.
    void read(std::size_t hash, Purpose purpose) EXCLUDES(mutex_);

   private:
    Mutex mutex_;
    std::deque<std::pair<std::size_t, std::size_t>> order_ GUARDED_BY(mutex_);  ///< hash, bytes
    std::unordered_set<std::size_t> hashes_ GUARDED_BY(mutex_);
    std::size_t bytes_ GUARDED_BY(mutex_) = 0;
    int small_reads_ GUARDED_BY(mutex_) = 0;
  };
  struct Shard {
    Mutex mutex;
    CondVar made;
    std::unordered_map<CacheKey, Entry, CacheKeyHash> entries GUARDED_BY(mutex);
    std::array<Queue, kPlaces> queues;  ///< by Place
    std::unordered_set<std::size_t> ghosts GUARDED_BY(mutex);
    std::deque<std::size_t> ghost_order GUARDED_BY(mutex);
  };

  Value get_any(const CacheKey& key, std::int64_t working_memory, Purpose purpose,
                const std::function<Made()>& make);
  Value find_any(const CacheKey& key, Purpose purpose);
  void count_use(Entry& entry, Purpose purpose) const;
  void check_affordable(std::size_t working) const;
  std::optional<Value> wait_for(Shard& shard, const Pending& pending) REQUIRES(shard.mutex);
  void finish(Shard& shard, const CacheKey& key, std::size_t hash, Purpose purpose, Made made);
  void fail(Shard& shard, const CacheKey& key);
  void reserve(std::size_t bytes);
  void release(std::size_t bytes);
  /// Frees one value of some shard; false if those that it looked at are all in use.
  bool evict_one();
  std::size_t bytes_in(Place place) const;
  bool evict_from(Shard& shard, Place place);
  /// Tries the fullest shard first: shards are unequal, and order is kept only within each.
  bool evict_from_fullest(Place place);
  void keep_within(Place place, std::size_t most);
  void put(Shard& shard, Entry& entry, Place place) REQUIRES(shard.mutex);
  void take_out(Shard& shard, Entry& entry) REQUIRES(shard.mutex);
  /// Frees an entry that no queue holds any more.
  void drop(Shard& shard, const Entry& entry) REQUIRES(shard.mutex);
  void remember_ghost(Shard& shard, std::size_t hash) REQUIRES(shard.mutex);

  static constexpr std::size_t kShards = 16;
  const std::size_t capacity_;
  const std::size_t kernel_capacity_, small_reads_capacity_;
  PagePool& pages_;
  Stats& stats_;
  std::atomic<std::size_t> used_{0};
  FairShare held_;                       ///< by open files
  std::atomic<std::uint64_t> clock_{0};  ///< bytes of all values ever made
  Mutex large_mutex_;
  CondVar large_freed_;
  std::size_t large_work_ GUARDED_BY(large_mutex_) = 0;
  RecentlyGiven recently_given_;
  std::array<Shard, kShards> shards_;
};

}  // namespace bloscfs::fs
