#include "fs/view/eviction_policy.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {

namespace {

// The traces and what is more or less are those of tests/bench/eviction_bench.cpp: misses of a
// cache of 64 MiB.

/// One in 5: popular 3 % and loop 9 % more, shifts 25 % less. One in 20: shifts 16 % more, loop 9 %
/// and popular 1 % less. No bound: scans 24 % more.
constexpr std::size_t kShareOfFresh = 10;
/// 1 MiB: small steps and given to many twice as many. 4 MiB: no fewer, and
/// laziness/what_the_kernel_has_is_not_kept_twice fails. No bound: no fewer, and each block of
/// 256 KiB that is read once has 59 page faults, 24 times as long, for its memory is fresh.
constexpr std::size_t kShortQueue = std::size_t{2} << 20;
/// So that of a cache of less than 16 MiB most is for the other queues.
constexpr std::size_t kShareOfShortQueue = 8;
/// A sixteenth: scans in steps 9 % more. A quarter: shifts 14 % and loop 7 % more. None: scans in
/// steps 34 % more, small steps twice as many.
constexpr std::size_t kOneUse = 8;
/// One: popular 5 % more. Seven: popular 1 % less.
constexpr std::uint8_t kMostUses = 3;
/// None: popular by small reads nearly four times as many, shifts 13 times. Half or twice: within
/// 1 %. So many take 1 MiB, beside the budget.
constexpr std::size_t kGhosts = 16 << 10;

}  // namespace

EvictionRules::EvictionRules(std::size_t capacity)
    : share_of_fresh(kShareOfFresh),
      short_queue(std::min(kShortQueue, capacity / kShareOfShortQueue)),
      one_use(capacity / kOneUse),
      most_uses(kMostUses),
      ghosts(kGhosts) {}

void UseCounter::begin(EvictionItem& item) {
  item.touched = made_ += item.size;
  item.uses = 0;
}

void UseCounter::use(EvictionItem& item, Purpose purpose) const {
  if (purpose == Purpose::readahead) return;
  // A reader that comes to what was read ahead for it, and passes through it in small steps, uses
  // it once.
  if (std::exchange(item.unread, false)) item.touched = made_;
  // Of 256 MiB one use is 32: a reader that goes through a block of 1 MiB in eight steps uses it
  // once, and so does whoever follows soon. Asked for again when 32 MiB were made since, the value
  // has outlived a scan.
  if (made_ - item.touched < one_use_) return;
  item.touched = made_;
  if (item.uses < most_uses_) item.uses++;
}

void EvictionPolicy::add(EvictionItem& item, Purpose purpose) {
  uses_.begin(item);
  const Queue queue = purpose == Purpose::small_read ? Queue::small_reads : Queue::fresh;
  // A key that went a short while ago and is wanted again would have been used, had there been
  // room.
  push(item, ghosts_.erase(item.hash) ? Queue::main : queue);
}

void EvictionPolicy::give_to_kernel(EvictionItem& item) {
  if (item.queue == Queue::main) return;
  remove(item);
  push(item, Queue::kernel_has);
}

void EvictionPolicy::remove(EvictionItem& item) {
  List& list = at(item.queue);
  list.items.erase(list.items.iterator_to(item));
  list.bytes -= item.size;
}

std::array<EvictionPolicy::Queue, EvictionPolicy::kQueues> EvictionPolicy::order() const {
  const std::size_t fresh = bytes(Queue::fresh);
  // With a share of 10: fresh values of 9 MiB beside 91 in the main queue stay, and the main queue
  // gives something up; of 11 beside 89 the fresh ones go.
  const bool fresh_first = fresh * rules_.share_of_fresh > fresh + bytes(Queue::main);
  return {Queue::kernel_has, Queue::small_reads, fresh_first ? Queue::fresh : Queue::main,
          fresh_first ? Queue::main : Queue::fresh};
}

bool EvictionPolicy::is_too_long(Queue queue) const {
  const bool is_short = queue == Queue::kernel_has || queue == Queue::small_reads;
  return is_short && bytes(queue) > rules_.short_queue;
}

EvictionItem* EvictionPolicy::next(Queue queue) {
  while (!at(queue).items.empty()) {
    EvictionItem& item = at(queue).items.front();
    remove(item);
    // Each use is one more round for a value of the main queue. From another queue a used value
    // goes into the main one, and begins there without uses.
    if (item.uses == 0) return &item;
    item.uses = queue == Queue::main ? static_cast<std::uint8_t>(item.uses - 1) : std::uint8_t{0};
    push(item, Queue::main);
  }
  return nullptr;
}

void EvictionPolicy::remember(std::size_t hash, Queue queue) {
  // Only what never came into the main queue can have gone too early.
  if (queue != Queue::main) ghosts_.add(hash, 1);
}

void EvictionPolicy::push(EvictionItem& item, Queue queue) {
  item.queue = queue;
  at(queue).items.push_back(item);
  at(queue).bytes += item.size;
}

}  // namespace bloscfs::fs
