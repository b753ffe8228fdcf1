#pragma once
// Recognises sequential readers of an object from the ranges that are read.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::frame::inline store {

/// Bytes [begin, end) of an object.
struct ReadSpan {
  std::uint64_t begin = 0, end = 0;
};

/// For one thread at a time.
class ReadStreams {
 public:
  using Clock = std::chrono::steady_clock;
  /// The bytes to request ahead of a reader, in requests of `range` bytes. If `extent` is empty,
  /// there is nothing to request.
  struct Ahead {
    ReadSpan extent;
    std::size_t range = 0;
  };

  /// Notes a read. Returns what to request ahead: at most `most` bytes beyond the read, once the
  /// reader has read much in order. If `most_time` is not 0, also at most as much as the reader
  /// reads in that time at its past speed.
  Ahead on_read(const ReadSpan& read, std::size_t most, Clock::time_point now,
                std::chrono::milliseconds most_time = {});
  /// Returns ranges that were requested ahead and that no reader will reach any more.
  std::vector<ReadSpan> take_abandoned(Clock::time_point now);

 private:
  struct Stream {
    std::uint64_t next = 0;              ///< expected offset of the reader's next read
    std::uint64_t planned = 0;           ///< end of what was requested
    std::uint64_t in_order = 0;          ///< bytes that were read beyond `next`
    std::uint64_t begin = 0, taken = 0;  ///< bytes read since offset `begin`
    int steps = 0;                       ///< reads that have moved `next` forward
    std::uint64_t number = 0;            ///< of the last read, among all reads of the object
    Clock::time_point time;              ///< of the last read
    Clock::time_point since;             ///< time of the first read

    bool is_in_order() const;
    bool skips_much() const;
    void note(const ReadSpan& read);
  };

  static std::uint64_t reached_in(const Stream& stream, std::chrono::milliseconds time);
  static bool belongs(const ReadSpan& read, const Stream& stream);
  Stream& stream_for(const ReadSpan& read);
  bool is_abandoned(const Stream& stream, Clock::time_point now) const;

  std::vector<Stream> streams_;
  std::vector<ReadSpan> abandoned_;
  std::uint64_t reads_ = 0;
};

}  // namespace bloscfs::frame::inline store
