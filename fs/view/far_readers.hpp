#pragma once
// Who reads contents in order whose chunks are far away, each on its own.

#include <chrono>
#include <cstddef>
#include <mutex>

#include "frame/store/read_streams.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class FarReaders {
 public:
  /// Tells of a read of contents; returns which ones of them are to be asked for now, so that
  /// `most` bytes are ahead of a reader who goes on for long.
  frame::ReadSpan on_read(const frame::ReadSpan& read, std::size_t most) {
    const std::lock_guard guard(mutex_);
    const auto now = frame::ReadStreams::Clock::now();
    // What is ahead of one who has gone is dropped by its age.
    streams_.take_left(now);
    return streams_.on_read(read, most, now, kMostTime).extent;
  }

 private:
  /// What is here for longer is taken for what nobody comes for.
  static constexpr std::chrono::milliseconds kMostTime{2000};

  std::mutex mutex_;
  frame::ReadStreams streams_;
};

}  // namespace bloscfs::fs
