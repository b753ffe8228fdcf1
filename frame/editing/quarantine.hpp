#pragma once
// Keeps superseded items, such as parts of a file or chunk files, until no reader needs them.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "frame/container/grace_period.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline editing {

template <typename Item>
class Quarantine {
 public:
  explicit Quarantine(const GracePeriod& grace) : grace_(grace) {}

  /// Registers a reader of the current state.
  void watch(std::weak_ptr<const Snapshot> snapshot) {
    readers_.push_back({state_, std::move(snapshot)});
  }

  /// Called when a commit is durable. watch() then registers readers of the committed state.
  void begin_state() { ++state_; }
  /// Keeps items that only states before the current one use.
  void add(std::vector<Item> items) { add(std::move(items), grace_.clock->now()); }
  /// Keeps items that no state has used since the time `since`.
  void add(std::vector<Item> items, Clock::TimePoint since) {
    if (!items.empty()) batches_.push_back({state_, since, std::move(items)});
  }

  bool empty() const { return batches_.empty(); }

  /// Returns the items that no reader can need any more. No snapshot of this process may use them.
  /// In addition, either `no_other_process` returns true, because no other process has the
  /// container open, or the grace period has passed.
  std::vector<Item> release(const std::function<bool()>& no_other_process) {
    std::erase_if(readers_, [](const Reader& reader) { return reader.snapshot.expired(); });
    const std::uint64_t oldest = readers_.empty() ? UINT64_MAX : readers_.front().state;
    std::vector<Item> free;
    if (batches_.empty() || batches_.front().state > oldest) return free;
    const bool alone = no_other_process();
    while (!batches_.empty() && batches_.front().state <= oldest &&
           (alone || grace_.clock->now() - batches_.front().since >= grace_.time)) {
      std::vector<Item>& items = batches_.front().items;
      free.insert(free.end(), items.begin(), items.end());
      batches_.pop_front();
    }
    return free;
  }

 private:
  struct Reader {
    std::uint64_t state;
    std::weak_ptr<const Snapshot> snapshot;
  };
  struct Batch {
    std::uint64_t state;  ///< states before this one use the items
    Clock::TimePoint since;
    std::vector<Item> items;
  };

  GracePeriod grace_;
  std::uint64_t state_ = 0;  ///< number of commits so far
  std::deque<Reader> readers_;
  std::deque<Batch> batches_;
};

}  // namespace bloscfs::frame::inline editing
