#pragma once
// The states of other programs' that one content went on from, and what has become of what was
// written in each.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "frame/store/clock.hpp"

namespace bloscfs::fs {

/// Not thread-safe.
class Epochs {
 public:
  explicit Epochs(const frame::Clock& clock = frame::system_clock()) : clock_(clock) {}

  std::uint64_t current() const { return current_; }
  /// False for one that is over; true for whoever names none.
  bool is_current(std::optional<std::uint64_t> epoch) const { return !epoch || *epoch == current_; }
  /// The current one for a page that the kernel writes back, which belongs to the state that it was
  /// read in. Throws std::system_error(ESTALE) while the kernel may have pages of an older one.
  std::uint64_t of_pages() const;
  /// True if something that was written in that epoch or before is not in the current state.
  bool lost_contents_of(std::uint64_t epoch) const { return epoch < first_without_loss_; }
  /// True if what is written now could be read by nobody.
  bool is_abandoned() const { return is_abandoned_; }

  /// Between begin_end() and either of the next two nothing can be written.
  void begin_end() { is_ending_ = true; }
  void stay() { is_ending_ = false; }
  struct End {
    bool loses_something = false;
    bool is_abandoned = false;
  };
  /// The next epoch begins. What is returned is to be set when the kernel has no page of an older
  /// one, by any thread.
  std::shared_ptr<std::atomic<bool>> begin_next(const End& end);
  bool is_ending() const { return is_ending_; }

  /// What waits for a commit is in a frame beside the file by now.
  void note_kept() { is_kept_ = true; }
  void note_written() { is_kept_ = false; }
  bool is_kept() const { return is_kept_; }
  void note_failure_to_keep() { keep_failed_ = clock_.now(); }
  /// True within a second of such a failure: what costs as much as a commit is not to be tried
  /// again at each look.
  bool has_just_failed_to_keep() const;

 private:
  const frame::Clock& clock_;
  std::uint64_t current_ = 0;
  std::uint64_t first_without_loss_ = 0;
  bool is_abandoned_ = false;
  bool is_ending_ = false;
  bool is_kept_ = false;
  std::optional<frame::Clock::TimePoint> keep_failed_;
  std::shared_ptr<std::atomic<bool>> pages_forgotten_;  ///< null in the first epoch
};

}  // namespace bloscfs::fs
