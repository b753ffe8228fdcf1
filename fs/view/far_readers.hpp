#pragma once
// Recognises sequential readers of contents whose chunks are far away, each as an object of its
// own.

#include <chrono>
#include <cstddef>
#include <mutex>

#include "frame/store/read_streams.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class FarReaders {
 public:
  /// Records a read of contents. Returns the contents to ask for now, so that up to `most` bytes
  /// are ahead of a reader that goes on for long.
  frame::ReadSpan on_read(const frame::ReadSpan& read, std::size_t most) {
    const std::lock_guard guard(mutex_);
    const auto now = frame::ReadStreams::Clock::now();
    // The result, the data ahead of readers that have gone, is not used: the source drops that data
    // by its age.
    streams_.take_abandoned(now);
    return streams_.on_read(read, most, now, kMostTime).extent;
  }

 private:
  /// Asks for no more than a reader reaches in this time. The source takes older data for
  /// unwanted, and drops it.
  static constexpr std::chrono::milliseconds kMostTime{2000};

  std::mutex mutex_;
  frame::ReadStreams streams_;
};

}  // namespace bloscfs::fs
