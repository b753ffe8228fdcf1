#pragma once
// Recognises readers that go on in order, or by equal jumps, and has what they will want next
// decoded ahead of them.

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

/// Shared by all readers of a mount: bounds the bytes that are being read ahead. A user for whom
/// something was too dear to be read ahead has to do without for a while.
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
  std::map<uid_t, frame::Clock::TimePoint> suspended_ GUARDED_BY(mutex_);  ///< until then
};

/// One per open handle, whose end is that of what it had posted. Thread-safe.
class Readahead {
 public:
  Readahead() = default;
  ~Readahead() { *reached_ = kGone; }
  Readahead(const Readahead&) = delete;
  Readahead& operator=(const Readahead&) = delete;

  /// Whether what lies some equal jumps further is decoded ahead. Behind a network it would be
  /// fetched for it.
  enum class Strides : std::uint8_t { are_followed, are_not_followed };

  /// Tells of a read that `user` has just asked for; may post work for the bytes behind it.
  /// `pool` and `budget` outlive the posted work.
  void on_read(std::int64_t offset, std::int64_t size, uid_t user,
               const std::shared_ptr<const OpenContainer>& file, WorkerPool& pool,
               ReadaheadBudget& budget, Strides strides);
  /// The reader has what is before `end`: what lies there may be gone from the cache again.
  void was_read(std::int64_t end) { *reached_ = end; }

 private:
  /// The range to read ahead now, empty if the reader's order is not known.
  struct Window {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Window advance(std::int64_t offset, std::int64_t end, std::int64_t file_size,
                 std::int64_t largest, Strides strides) EXCLUDES(mutex_);
  Window beyond_strides(std::int64_t offset, std::int64_t file_size) REQUIRES(mutex_);

  static constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::max();

  Mutex mutex_;
  std::int64_t begin_ GUARDED_BY(mutex_) = 0;    ///< where the present run in order began
  std::int64_t stride_ GUARDED_BY(mutex_) = 0;   ///< from the beginning of the run before
  std::int64_t strides_ GUARDED_BY(mutex_) = 0;  ///< jumps of that length, the first not counted
  std::int64_t next_ GUARDED_BY(mutex_) = -1;    ///< where that goes on
  std::int64_t ahead_ GUARDED_BY(mutex_) = 0;    ///< end of what was already asked for
  std::int64_t window_ GUARDED_BY(mutex_) = 0;   ///< bytes; grows while the reader goes on
  /// Where the latest request begins, or ends once it was read, for tasks that may run when the
  /// handle is gone.
  const std::shared_ptr<std::atomic<std::int64_t>> reached_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace bloscfs::fs
