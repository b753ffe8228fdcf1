#pragma once
// Which value of the cache goes next.
//
// The order is that of S3-FIFO: new values go through a short queue, those used again meanwhile
// into the main one, so that one pass over a large file does not push out what is used again. Keys
// of what went are remembered as ghosts: what comes back is used again as well. Two short queues go
// before both: what the kernel has whole, and what only small reads wanted.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "fs/view/recent_hashes.hpp"

namespace bloscfs::fs {

/// Why a value is wanted: to be read now, or only a little of it, or because a sequential reader
/// will come to it.
enum class Purpose : std::uint8_t { read, small_read, readahead };

/// Sizes in bytes. What chose them is beside them in eviction_policy.cpp.
struct EvictionRules {
  explicit EvictionRules(std::size_t capacity);

  std::size_t share_of_fresh;  ///< new values may hold one part in so many before they go first
  std::size_t short_queue;     ///< of what the kernel has, and of what only small reads wanted
  std::size_t one_use;         ///< uses with fewer bytes made between them count as one
  std::uint8_t most_uses;      ///< that count
  std::size_t ghosts;          ///< keys
};

/// The queues of values, in the order in which they give something up, but for the last two: see
/// EvictionPolicy::order().
enum class EvictionQueue : std::uint8_t { kernel_has, small_reads, fresh, main };

/// What is known of a value. Stays where it is from EvictionPolicy::add() to remove() or next().
struct EvictionItem : boost::intrusive::list_base_hook<> {
  std::size_t hash = 0;       ///< of its key
  std::size_t size = 0;       ///< what it takes of the budget
  bool unread = false;        ///< made by readahead, and not read since
  std::uint64_t touched = 0;  ///< what had been made by the last use that counted
  std::atomic<std::uint8_t> uses = 0;
  EvictionQueue queue = EvictionQueue::fresh;
};

/// Counts how often values are used. Thread-safe, but for one value at once.
class UseCounter {
 public:
  explicit UseCounter(const EvictionRules& rules)
      : one_use_(rules.one_use), most_uses_(rules.most_uses) {}
  /// Those of a cache of another capacity, from here on.
  void follow(const EvictionRules& rules) { one_use_ = rules.one_use; }

  /// The value was made.
  void begin(EvictionItem& item);
  /// It is wanted again, or while it is being made.
  void use(EvictionItem& item, Purpose purpose) const;

 private:
  std::atomic<std::size_t> one_use_;
  const std::uint8_t most_uses_;
  std::atomic<std::uint64_t> made_{0};  ///< bytes of all values ever
};

/// No locks, no I/O. For one thread at a time; uses may be counted meanwhile.
class EvictionPolicy {
 public:
  using Queue = EvictionQueue;
  static constexpr std::size_t kQueues = 4;

  /// `uses` outlives the policy.
  EvictionPolicy(const EvictionRules& rules, UseCounter& uses)
      : rules_(rules), uses_(uses), ghosts_(rules.ghosts) {}
  /// As UseCounter's. As many keys are remembered as before.
  void follow(const EvictionRules& rules) { rules_ = rules; }

  /// The value was made, for that purpose.
  void add(EvictionItem& item, Purpose purpose);
  /// All of it has gone to the kernel, which keeps it: it is hardly needed here any more.
  void give_to_kernel(EvictionItem& item);
  void remove(EvictionItem& item);

  /// The queues in the order in which they are to give something up.
  std::array<Queue, kQueues> order() const;
  /// True if the queue holds more than it may, whatever the others do.
  bool is_too_long(Queue queue) const;
  /// The next value of the queue that nobody has used again, taken out; null if there is none.
  EvictionItem* next(Queue queue);
  /// What next() gave is in use after all: the others of its queue go first.
  void put_back(EvictionItem& item) { push(item, item.queue); }
  /// What next() gave is gone.
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
