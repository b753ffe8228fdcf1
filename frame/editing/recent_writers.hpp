#pragma once
// Notes that ended writers left about their files. Superseded space waits for readers from the time
// of its commit. Without these notes a file that is opened again and again would start that wait
// anew each time.

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
  /// Stores the notes that an ended writer of the file left in `state`. Keeps them for `time`,
  /// unless many other notes need the memory.
  void add(const FileId& file, std::shared_ptr<ExpectedState> state, const GracePeriod& time);
  /// Returns and forgets the notes of the file's last writer. Null if there are none, or if another
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
  std::size_t memory_ = 0;   ///< bytes, roughly
};

}  // namespace bloscfs::frame::inline editing
