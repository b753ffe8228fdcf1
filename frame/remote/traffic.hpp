#pragma once
// What all objects of a mount may have under way: memory and transfers, given in turns.

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

/// A range that takes memory once it is asked for, and a transfer until it is there.
class Load {
 public:
  virtual ~Load() = default;
  virtual std::size_t size() const = 0;
  /// Begins, once. From then on ended() and gone() are called for it, once each. Blocks nobody.
  virtual void start() noexcept = 0;
};

struct TrafficNumbers {
  std::uint64_t requests = 0;         ///< that were begun
  std::uint64_t bytes_received = 0;   ///< of ranges
  std::uint64_t bytes_under_way = 0;  ///< asked for, and not here yet
  std::uint64_t bytes_held = 0;       ///< these, and what is here and kept
};

/// Thread-safe. What a reader waits for begins at once as long as there are transfers; what is
/// only expected to be wanted begins while all that is held is within the budget, and leaves a
/// quarter of the transfers to others. In both cases objects take turns, so that many ranges of
/// one do not keep back a single one of another.
class Traffic {
 public:
  static constexpr std::size_t kDefaultBudget = std::size_t{32} << 20;

  /// `transfers` is how many the client makes at once.
  explicit Traffic(std::size_t budget = kDefaultBudget, unsigned transfers = 16);

  std::size_t budget() const { return budget_; }
  TrafficNumbers numbers() const;
  IdleSweep& sweep() { return sweep_; }

  /// `object` tells whose turn it is. A load that is destroyed is no longer wanted.
  void add(const void* object, const std::shared_ptr<Load>& load, bool urgent);
  /// A reader waits for it now. Nothing happens where it has begun.
  void hurry(const void* object, const Load& load);
  /// Begins what may begin. Called without locks that loads take, after any other call.
  void pump();

  /// A load that has begun waits before another attempt: until resumed() it has no transfer, and
  /// others are not kept waiting by a server that fails. resumed() does not wait for one.
  void paused();
  void resumed();
  /// A load came to its end, with so many bytes; all of it stays booked as held.
  void ended(std::size_t size, std::size_t received, bool is_paused);
  void gone(std::size_t size);
  /// Bytes that came without a load of their own: gone() is called for them.
  void hold(std::size_t size);
  /// Counts what was asked for without a load.
  void note_request(std::size_t received);
  /// Reads of objects, wherever their bytes were.
  SourceCounters& reads() { return reads_; }
  const SourceCounters& reads() const { return reads_; }

 private:
  /// What one object has waiting.
  struct Line {
    const void* object = nullptr;
    std::deque<std::weak_ptr<Load>> urgent, later;
  };
  using Lines = std::list<Line>;

  std::shared_ptr<Load> next();
  std::shared_ptr<Load> next_of(std::deque<std::weak_ptr<Load>> Line::*kind, bool within_budget);
  Lines::iterator line_of(const void* object);

  const std::size_t budget_;
  const unsigned most_, most_expected_;  ///< transfers

  mutable std::mutex mutex_;
  Lines lines_;  ///< whose turn it is in front
  unsigned transfers_ = 0;
  TrafficNumbers numbers_;

  SourceCounters reads_;
  IdleSweep sweep_;
};

std::shared_ptr<Traffic> traffic_of(const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
