#pragma once
// Counts the states of other programs that one content went on from, and records whether written
// contents were lost with each.

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
  /// False if `epoch` is over; true without an epoch.
  bool is_current(std::optional<std::uint64_t> epoch) const { return !epoch || *epoch == current_; }
  /// Returns the current epoch for a page that the kernel writes back. A page belongs to the state
  /// that it was read from. Throws std::system_error(ESTALE) while the kernel may have pages of an
  /// older epoch.
  std::uint64_t of_pages() const;
  /// True if something that was written in that epoch or earlier is not in the current state.
  bool lost_contents_of(std::uint64_t epoch) const { return epoch < first_without_loss_; }
  /// True if no reader could ever read what is written now.
  bool is_abandoned() const { return is_abandoned_; }

  /// begin_end() blocks writes until stay() or begin_next() is called.
  void begin_end() { is_ending_ = true; }
  void stay() { is_ending_ = false; }
  struct End {
    bool loses_something = false;
    bool is_abandoned = false;
  };
  /// Begins the next epoch. The caller sets the returned flag, from any thread, when the kernel has
  /// dropped all pages of older epochs.
  std::shared_ptr<std::atomic<bool>> begin_next(const End& end);
  bool is_ending() const { return is_ending_; }

  /// Records that the uncommitted contents were saved in a conflict file.
  void note_saved() { is_saved_ = true; }
  void note_written() { is_saved_ = false; }
  /// True if nothing was written since note_saved().
  bool is_saved() const { return is_saved_; }
  void note_save_failure() { save_failed_at_ = clock_.now(); }
  /// True within a second of note_save_failure(). Saving costs as much as a commit, so it must
  /// not be retried at each look at the file.
  bool save_failed_recently() const;

 private:
  const frame::Clock& clock_;
  std::uint64_t current_ = 0;
  std::uint64_t first_without_loss_ = 0;
  bool is_abandoned_ = false;
  bool is_ending_ = false;
  bool is_saved_ = false;
  std::optional<frame::Clock::TimePoint> save_failed_at_;
  std::shared_ptr<std::atomic<bool>> pages_forgotten_;  ///< true: the kernel has dropped them; null
                                                        ///< in the first epoch
};

}  // namespace bloscfs::fs
