#include "fs/view/eviction_policy.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {

namespace {

// The comments below say how other numbers change the misses in the traces of
// tests/bench/eviction_bench.cpp ("popular", "loop", "shifts" and so on), with a cache of 64 MiB.

/// With 5: popular +3 %, loop +9 %, shifts -25 %. With 20: shifts +16 %, loop -9 %, popular -1 %.
/// No limit: scans +24 %.
constexpr std::size_t kShareOfFresh = 10;
/// With 1 MiB: small steps and given to many +100 %. With 4 MiB: no gain, and
/// laziness/what_the_kernel_has_is_not_kept_twice fails. No limit: no gain, and each block of 256
/// KiB that is read once takes 24 times as long, because its fresh memory causes 59 page faults.
constexpr std::size_t kShortQueue = std::size_t{2} << 20;
/// Leaves most of a cache of less than 16 MiB to the other queues.
constexpr std::size_t kShareOfShortQueue = 8;
/// With 1/16 of the capacity: scans in steps +9 %. With 1/4: shifts +14 %, loop +7 %. With 0: scans
/// in steps +34 %, small steps +100 %.
constexpr std::size_t kOneUse = 8;
/// With 1: popular +5 %. With 7: popular -1 %.
constexpr std::uint8_t kMostUses = 3;
/// Without ghosts: popular by small reads nearly 4 times, shifts 13 times the misses. With half or
/// twice as many: within 1 %. They take 1 MiB outside of the budget.
constexpr std::size_t kGhosts = 16 << 10;

}  // namespace

EvictionRules::EvictionRules(std::size_t capacity)
    : fresh_divisor(kShareOfFresh),
      short_queue(std::min(kShortQueue, capacity / kShareOfShortQueue)),
      use_interval(capacity / kOneUse),
      most_uses(kMostUses),
      ghosts(kGhosts) {}

void UseCounter::begin(EvictionItem& item) {
  item.touched = made_ += item.size;
  item.uses = 0;
}

void UseCounter::use(EvictionItem& item, Purpose purpose) const {
  if (purpose == Purpose::readahead) return;
  // A reader that passes in small steps through a value that was read ahead for it uses the value
  // once.
  if (std::exchange(item.unread, false)) item.touched = made_;
  // Example with 256 MiB, so that use_interval_ is 32 MiB: a reader that goes through a block of 1
  // MiB in eight steps uses it once. So does another reader that follows soon. If the block is read
  // again after 32 MiB of other values were made, it has outlived a scan.
  if (made_ - item.touched < use_interval_) return;
  item.touched = made_;
  if (item.uses < most_uses_) item.uses++;
}

void EvictionPolicy::add(EvictionItem& item, Purpose purpose) {
  uses_.begin(item);
  const Queue queue = purpose == Purpose::small_read ? Queue::small_reads : Queue::fresh;
  // A value with a ghost is wanted again soon after its eviction. With more room, the cache would
  // still have had it.
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
  // Example with a share of 10: with 9 MiB of fresh values and 91 MiB in the main queue, the main
  // queue loses a value. With 11 MiB and 89 MiB, the fresh queue does.
  const bool fresh_first = fresh * rules_.fresh_divisor > fresh + bytes(Queue::main);
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
    // In the main queue, each use gives a value one more round. A used value of another queue moves
    // to the main queue, and starts there without uses.
    if (item.uses == 0) return &item;
    item.uses = queue == Queue::main ? static_cast<std::uint8_t>(item.uses - 1) : std::uint8_t{0};
    push(item, Queue::main);
  }
  return nullptr;
}

void EvictionPolicy::remember(std::size_t hash, Queue queue) {
  // Only a value that never reached the main queue can have been evicted too early.
  if (queue != Queue::main) ghosts_.add(hash, 1);
}

void EvictionPolicy::push(EvictionItem& item, Queue queue) {
  item.queue = queue;
  at(queue).items.push_back(item);
  at(queue).bytes += item.size;
}

}  // namespace bloscfs::fs
