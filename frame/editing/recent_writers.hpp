#pragma once
// What writers that have ended knew of their files. Superseded space waits for readers of other
// programs since its commit: a file that is opened again and again would wait anew each time.

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "frame/container/grace_period.hpp"
#include "frame/reading/expected_state.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline editing {

/// Thread-safe.
class RecentWriters {
 public:
  /// A writer of the file has ended, and has left its notes in `state`. They are kept for that
  /// long, unless many others come.
  void add(const FileId& file, std::shared_ptr<ExpectedState> state, const GracePeriod& time);
  /// The notes of the file's last writer, and forgets them. Null if there are none, or if another
  /// program has changed the file since.
  std::shared_ptr<WriterNotes> take(const ByteSource& file);

 private:
  struct Ended {
    FileId file;
    Clock::TimePoint until;
    std::shared_ptr<ExpectedState> state;
    std::size_t memory;
  };

  std::shared_ptr<ExpectedState> remove(const FileId& file);

  std::mutex mutex_;
  std::deque<Ended> ended_;  ///< oldest first
  std::size_t memory_ = 0;   ///< bytes, about
};

}  // namespace bloscfs::frame::inline editing
