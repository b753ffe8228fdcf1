#pragma once
// The memory and transfers that all objects of a mount share. Objects get them round robin.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "frame/remote/idle_sweep.hpp"
#include "frame/remote/remote_settings.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline remote {

/// A range to fetch. It takes memory from its request until gone(), and one of the client's
/// transfers until it has arrived.
class Load {
 public:
  virtual ~Load() = default;
  virtual std::size_t size() const = 0;
  /// Starts the transfer, once. The load must later call Traffic::ended() and gone(), once each.
  /// Must not block.
  virtual void start() noexcept = 0;
};

struct TrafficNumbers {
  std::uint64_t requests = 0;         ///< that were sent
  std::uint64_t bytes_received = 0;   ///< of ranges
  std::uint64_t bytes_under_way = 0;  ///< requested, but not here yet
  std::uint64_t bytes_held = 0;       ///< under way, or here and kept
};

/// Thread-safe. A range that a reader waits for begins as soon as a transfer is free. A range that
/// is only expected begins while all held bytes are within the memory budget, and while a quarter
/// of the transfers stays free for others. Both kinds begin round robin between objects, so that
/// many ranges of one object do not delay a single range of another.
class Traffic {
 public:
  static constexpr std::size_t kDefaultBudget = std::size_t{32} << 20;

  /// `budget` is in bytes; at least 1 MiB is used. `transfers` is how many the client makes at
  /// once.
  explicit Traffic(std::size_t budget = kDefaultBudget, unsigned transfers = 16);

  std::size_t budget() const { return budget_; }
  TrafficNumbers numbers() const;
  IdleSweep& sweep() { return sweep_; }

  /// Queues a load. `object` identifies its queue for the round robin. A load that is destroyed is
  /// no longer wanted.
  void add(const void* object, const std::shared_ptr<Load>& load, bool urgent);
  /// Makes a waiting load urgent, because a reader waits for it now. Does nothing if it has begun.
  void make_urgent(const void* object, const Load& load);
  /// Starts the loads that may begin. To be called after each change by another function, such as
  /// add() or ended(). The caller must not hold a lock that Load::start() takes.
  void pump();

  /// A load that has begun waits before a retry. Until resumed() it has no transfer, so that a
  /// failing server does not delay others. resumed() does not wait for a free transfer.
  void paused();
  void resumed();
  /// A load has ended after `received` bytes. Its `size` stays counted as held until gone().
  void ended(std::size_t size, std::size_t received, bool is_paused);
  void released(std::size_t size);
  /// Counts bytes as held that came without a load. The owner calls gone() for them.
  void hold(std::size_t size);
  /// Counts a request that was sent without a load.
  void note_request(std::size_t received);
  /// Counts reads of objects, whether from the network or a cache.
  SourceCounters& reads() { return reads_; }
  const SourceCounters& reads() const { return reads_; }

 private:
  /// The waiting loads of one object.
  struct Line {
    const void* object = nullptr;
    std::deque<std::weak_ptr<Load>> urgent, later;
  };
  using Lines = std::list<Line>;

  std::shared_ptr<Load> next();
  std::shared_ptr<Load> next_of(std::deque<std::weak_ptr<Load>> Line::*kind, bool within_budget);
  Lines::iterator line_of(const void* object);

  const std::size_t budget_;
  const unsigned most_, most_expected_;  ///< limits of transfers_: for urgent loads, for others

  mutable std::mutex mutex_;
  Lines lines_;  ///< the next one to be served is in front
  unsigned transfers_ = 0;
  TrafficNumbers numbers_;

  SourceCounters reads_;
  IdleSweep sweep_;
};

std::shared_ptr<Traffic> traffic_of(const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
