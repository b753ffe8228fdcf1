#include "fs/support/request_watch.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {
namespace {

constexpr std::array<const char*, kOperations> kOperationNames = {
    "lookup",          "getattr",     "setattr", "access",     "readlink", "statfs",   "open",
    "release",         "read",        "lseek",   "write",      "fsync",    "flush",    "fallocate",
    "copy_file_range", "opendir",     "readdir", "releasedir", "fsyncdir", "getxattr", "listxattr",
    "setxattr",        "removexattr", "mknod",   "mkdir",      "symlink",  "link",     "unlink",
    "rmdir",           "rename",      "create",  "ioctl"};

/// Where this thread found its last free slot. Threads that start at different slots do not compete
/// for one.
thread_local std::size_t last_slot = 0;
std::atomic<std::size_t> next_first_slot{0};

// States of a slot: its number modulo 4. The number grows with each step.
constexpr std::uint64_t kFree = 0, kTaken = 1, kListed = 2;

}  // namespace

const char* name_of(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

/// A reader compares the slot's number before and after reading. If both are equal and say kListed,
/// all fields belong to one request. Writers set the other fields only after the number says
/// kTaken.
struct alignas(64) RequestWatch::Slot {
  std::atomic<std::uint64_t> number{kFree};
  std::atomic<Operation> operation{};
  std::atomic<std::uint64_t> node{0};
  std::atomic<uid_t> user{0};
  std::atomic<pid_t> process{0};
  std::atomic<Clock::rep> began{0};
  frame::WaitState waits;

  bool take() noexcept {
    std::uint64_t found = number.load(std::memory_order_relaxed);
    return found % 4 == kFree && number.compare_exchange_strong(found, found + kTaken);
  }
  void list() noexcept { number.fetch_add(kListed - kTaken); }
  void give_back() noexcept { number.fetch_add(4 - kListed); }
};

RequestWatch::RequestWatch() : slots_(std::make_unique<Slot[]>(kSlots)) {}

RequestWatch::~RequestWatch() = default;

/// Returns null if all slots are taken.
RequestWatch::Slot* RequestWatch::take_slot() noexcept {
  // Threads start far apart, and each tries its last slot first.
  constexpr std::size_t kApart = 8;
  if (last_slot == 0) last_slot = kSlots + next_first_slot++ * kApart;
  for (std::size_t i = 0; i < kSlots; i++) {
    Slot& slot = slots_[(last_slot + i) % kSlots];
    if (!slot.take()) continue;
    last_slot += i;
    return &slot;
  }
  return nullptr;
}

RequestWatch::Entry::Entry(RequestWatch& watch, Operation operation, std::uint64_t node,
                           Sender sender) noexcept
    : watch_(&watch), slot_(watch.take_slot()), operation_(operation), began_(Clock::now()) {
  if (slot_ == nullptr) return;
  slot_->operation.store(operation, std::memory_order_release);
  slot_->node.store(node, std::memory_order_release);
  slot_->user.store(sender.user, std::memory_order_release);
  slot_->process.store(sender.process, std::memory_order_release);
  slot_->began.store(began_.time_since_epoch().count(), std::memory_order_release);
  slot_->waits.reason.store(frame::WaitReason::nothing, std::memory_order_release);
  slot_->list();
}

RequestWatch::Entry::Entry(Entry&& other) noexcept
    : watch_(std::exchange(other.watch_, nullptr)),
      slot_(std::exchange(other.slot_, nullptr)),
      operation_(other.operation_),
      began_(other.began_) {}

RequestWatch::Entry::~Entry() {
  if (watch_ == nullptr) return;
  watch_->of(operation_).latencies.add(Clock::now() - began_);
  if (slot_ != nullptr) slot_->give_back();
}

frame::WaitState* RequestWatch::Entry::waits() const {
  return slot_ == nullptr ? nullptr : &slot_->waits;
}

void RequestWatch::Entry::add_bytes(std::size_t count) noexcept {
  if (watch_ != nullptr) watch_->of(operation_).bytes.fetch_add(count, std::memory_order_relaxed);
}

std::vector<RequestWatch::UnderWay> RequestWatch::under_way() const {
  std::vector<UnderWay> found;
  for (std::size_t i = 0; i < kSlots; i++) {
    const Slot& slot = slots_[i];
    const std::uint64_t number = slot.number;
    if (number % 4 != kListed) continue;
    const auto now = Clock::now();
    const auto since = [&](Clock::rep begin) {
      return std::max(now.time_since_epoch() - Clock::duration(begin), Clock::duration::zero());
    };
    const UnderWay request{slot.operation,    slot.node,         {slot.user, slot.process},
                           since(slot.began), slot.waits.reason, since(slot.waits.since)};
    // If the number has changed, the request ended while the fields were read.
    if (slot.number == number) found.push_back(request);
  }
  std::sort(found.begin(), found.end(),
            [](const UnderWay& one, const UnderWay& other) { return one.age > other.age; });
  return found;
}

}  // namespace bloscfs::fs
