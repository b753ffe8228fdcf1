#pragma once
// Which value the cache evicts next.
//
// The order is that of S3-FIFO. New values go through a short queue, and values that are used again
// there move into the main queue. So one pass over a large file does not evict values that are used
// again. The keys of evicted values are remembered as ghosts: a value that comes back goes into the
// main queue at once. Two short queues lose values before these two: the values that the kernel has
// whole, and the values that only small reads wanted.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "fs/view/recent_hashes.hpp"

namespace bloscfs::fs {

/// Why a value is wanted: for a read, for a read of only a little of it, or for a sequential reader
/// that will reach it.
enum class Purpose : std::uint8_t { read, small_read, readahead };

/// Sizes in bytes. eviction_policy.cpp says why these numbers were chosen.
struct EvictionRules {
  explicit EvictionRules(std::size_t capacity);

  std::size_t fresh_divisor;  ///< fresh values go first if they have more than 1/fresh_divisor
                              ///< of the bytes of fresh and main
  std::size_t short_queue;    ///< limit of the queues kernel_has and small_reads
  std::size_t use_interval;   ///< uses count as one until this many bytes of other values were made
  std::uint8_t most_uses;     ///< the most uses that count
  std::size_t ghosts;         ///< how many keys
};

/// The queues, in the order in which they lose values. EvictionPolicy::order() decides which of the
/// last two goes first.
enum class EvictionQueue : std::uint8_t { kernel_has, small_reads, fresh, main };

/// What the policy knows of a value. The object must not move between EvictionPolicy::add() and
/// remove() or next().
struct EvictionItem : boost::intrusive::list_base_hook<> {
  std::size_t hash = 0;       ///< of its key
  std::size_t size = 0;       ///< bytes that the value takes of the budget
  bool unread = false;        ///< made by readahead, and not read since
  std::uint64_t touched = 0;  ///< UseCounter::made_ at the last use that counted
  std::atomic<std::uint8_t> uses = 0;
  EvictionQueue queue = EvictionQueue::fresh;
};

/// Counts how often values are used. Thread-safe, except for calls with the same value.
class UseCounter {
 public:
  explicit UseCounter(const EvictionRules& rules)
      : use_interval_(rules.use_interval), most_uses_(rules.most_uses) {}
  /// Takes the rules of a cache of another capacity.
  void follow(const EvictionRules& rules) { use_interval_ = rules.use_interval; }

  /// Call this when the value has been made.
  void begin(EvictionItem& item);
  /// Call this when the value is wanted again, or is wanted while it is being made.
  void use(EvictionItem& item, Purpose purpose) const;

 private:
  std::atomic<std::size_t> use_interval_;
  const std::uint8_t most_uses_;
  std::atomic<std::uint64_t> made_{0};  ///< bytes of all values ever made
};

/// Takes no locks, and does no I/O. For one thread at a time, while other threads may count uses.
class EvictionPolicy {
 public:
  using Queue = EvictionQueue;
  static constexpr std::size_t kQueues = 4;

  /// `uses` outlives the policy.
  EvictionPolicy(const EvictionRules& rules, UseCounter& uses)
      : rules_(rules), uses_(uses), ghosts_(rules.ghosts) {}
  /// Takes the rules of a cache of another capacity. The number of ghosts stays.
  void follow(const EvictionRules& rules) { rules_ = rules; }

  /// Adds a value that was made for that purpose.
  void add(EvictionItem& item, Purpose purpose);
  /// Call this when all bytes of the value have gone to the kernel's page cache. Moves the value to
  /// the queue that loses values first, unless it is in the main queue.
  void give_to_kernel(EvictionItem& item);
  void remove(EvictionItem& item);

  /// Returns the queues in the order in which they are to lose values.
  std::array<Queue, kQueues> order() const;
  /// True if the queue exceeds its own limit, regardless of the other queues.
  bool is_too_long(Queue queue) const;
  /// Removes and returns the next value of the queue that was not used again; null if there is
  /// none. Moves used values to the main queue.
  EvictionItem* next(Queue queue);
  /// Puts back a value from next() that is in use, behind the others of its queue.
  void put_back(EvictionItem& item) { push(item, item.queue); }
  /// Remembers a value from next() that has been evicted.
  void remember(std::size_t hash, Queue queue);
  std::size_t bytes(Queue queue) const { return at(queue).bytes; }

 private:
  struct List {
    boost::intrusive::list<EvictionItem> items;
    std::size_t bytes = 0;
  };

  const List& at(Queue queue) const { return lists_[static_cast<std::size_t>(queue)]; }
  List& at(Queue queue) { return lists_[static_cast<std::size_t>(queue)]; }
  void push(EvictionItem& item, Queue queue);

  EvictionRules rules_;
  UseCounter& uses_;
  std::array<List, kQueues> lists_;  ///< by Queue
  RecentHashes ghosts_;
};

}  // namespace bloscfs::fs
