#pragma once
// Detects readers that read in order, or in equal jumps, and decodes ahead of them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include <sys/types.h>

#include "frame/store/clock.hpp"
#include "fs/content/open_file.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// Limits the bytes that are being read ahead for all readers of a mount. If reading ahead was too
/// expensive for a user, suspends it for that user for a while.
class ReadaheadBudget {
 public:
  explicit ReadaheadBudget(std::int64_t limit, const frame::Clock& clock = frame::system_clock())
      : limit_(limit), clock_(clock) {}
  std::int64_t limit() const { return limit_; }
  bool take(std::int64_t bytes);
  void give_back(std::int64_t bytes) { taken_ -= bytes; }

  void suspend(uid_t user) EXCLUDES(mutex_);
  bool is_suspended(uid_t user) EXCLUDES(mutex_);

 private:
  const std::int64_t limit_;
  const frame::Clock& clock_;
  std::atomic<std::int64_t> taken_{0};
  Mutex mutex_;
  std::map<uid_t, frame::Clock::TimePoint> suspended_
      GUARDED_BY(mutex_);  ///< end of the suspension
};

/// Reading ahead for one open handle. Its destructor cancels the posted work. Thread-safe.
class Readahead {
 public:
  Readahead() = default;
  ~Readahead() { *reached_ = kGone; }
  Readahead(const Readahead&) = delete;
  Readahead& operator=(const Readahead&) = delete;

  /// Whether to decode ahead of a reader that jumps. Behind a network, the jumps would cost
  /// downloads.
  enum class Strides : std::uint8_t { are_followed, are_not_followed };

  /// Records that `user` has asked for a read, and may post work for the bytes behind it. `pool`
  /// and `budget` outlive the posted work.
  void on_read(std::int64_t offset, std::int64_t size, uid_t user,
               const std::shared_ptr<const OpenContainer>& file, WorkerPool& pool,
               ReadaheadBudget& budget, Strides strides);
  /// Records that the reader has read everything before `end`, so that nothing before it is decoded
  /// ahead any more.
  void was_read(std::int64_t end) { *reached_ = end; }

 private:
  /// The range to read ahead now; empty if no order is detected.
  struct Window {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Window advance(std::int64_t offset, std::int64_t end, std::int64_t file_size,
                 std::int64_t largest, Strides strides) EXCLUDES(mutex_);
  Window beyond_strides(std::int64_t offset, std::int64_t file_size) REQUIRES(mutex_);

  static constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::max();

  Mutex mutex_;
  std::int64_t begin_ GUARDED_BY(mutex_) = 0;    ///< start of the present sequential run
  std::int64_t stride_ GUARDED_BY(mutex_) = 0;   ///< distance from the start of the previous run
  std::int64_t strides_ GUARDED_BY(mutex_) = 0;  ///< equal jumps in a row, not counting the first
  std::int64_t next_ GUARDED_BY(mutex_) = -1;    ///< where the present run continues
  std::int64_t ahead_ GUARDED_BY(mutex_) = 0;    ///< end of the range that was requested ahead so
                                                 ///< far
  std::int64_t window_ GUARDED_BY(mutex_) = 0;   ///< bytes; grows while the reader reads in order
  /// Start of the latest request, or its end once it was read. Shared with tasks, which may outlive
  /// the handle.
  const std::shared_ptr<std::atomic<std::int64_t>> reached_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace bloscfs::fs
