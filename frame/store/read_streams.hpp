#pragma once
// Recognises who reads an object in order, by the ranges that are read of it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::frame::inline store {

/// Bytes [begin, end) of an object.
struct ReadSpan {
  std::uint64_t begin = 0, end = 0;
};

/// Belongs to one thread at a time.
class ReadStreams {
 public:
  using Clock = std::chrono::steady_clock;
  /// What is to be asked for ahead of a reader, in ranges of so many bytes; nothing to do if empty.
  struct Ahead {
    ReadSpan extent;
    std::size_t range = 0;
  };

  /// Tells of a read. `most` bytes are to be ahead, if it goes on for long; where `most_time` is
  /// not 0 no more than its reader comes to in that, as fast as he has been.
  Ahead on_read(const ReadSpan& read, std::size_t most, Clock::time_point now,
                std::chrono::milliseconds most_time = {});
  /// What nobody comes for any more.
  std::vector<ReadSpan> take_left(Clock::time_point now);

 private:
  struct Stream {
    std::uint64_t next = 0;     ///< where its reader goes on
    std::uint64_t planned = 0;  ///< end of what was asked for
    std::uint64_t in_order = 0;
    std::uint64_t begin = 0, taken = 0;  ///< bytes read since offset `begin`
    int steps = 0;
    std::uint64_t number = 0;  ///< of its last read
    Clock::time_point time;    ///< the same
    Clock::time_point since;   ///< of its first read

    bool is_in_order() const;
    bool leaves_out_much() const;
    void note(const ReadSpan& read);
  };

  static std::uint64_t reached_in(const Stream& stream, std::chrono::milliseconds time);
  static bool belongs(const ReadSpan& read, const Stream& stream);
  Stream& stream_for(const ReadSpan& read);
  bool is_left(const Stream& stream, Clock::time_point now) const;

  std::vector<Stream> streams_;
  std::vector<ReadSpan> left_;
  std::uint64_t reads_ = 0;
};

}  // namespace bloscfs::frame::inline store
