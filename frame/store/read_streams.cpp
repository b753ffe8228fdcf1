#include "frame/store/read_streams.hpp"

#include <algorithm>

namespace bloscfs::frame::inline store {
namespace {

constexpr std::size_t kMostStreams = 8;
/// How much a sequential reader may skip between two reads.
constexpr std::uint64_t kGap = std::uint64_t{64} << 10;
/// How far back a read of a sequential reader may begin. Reads arrive slightly out of order if
/// several threads make them.
constexpr std::uint64_t kSlack = std::uint64_t{8} << 20;
/// A reader is sequential after so many bytes in so many reads. A chunk's header and one block are
/// not enough.
constexpr std::uint64_t kOrderBytes = std::uint64_t{128} << 10;
constexpr int kOrderSteps = 3;
/// skips_much() looks at spans between these sizes.
constexpr std::uint64_t kLeastSpan = std::uint64_t{256} << 10, kMostSpan = std::uint64_t{8} << 20;
/// After so many bytes, the reader is expected to go on to the end.
constexpr std::uint64_t kLongRun = std::uint64_t{512} << 10;
constexpr std::uint64_t kUsualRange = std::uint64_t{1} << 20;
constexpr std::size_t kLeastRange = std::size_t{64} << 10, kMostRange = std::size_t{8} << 20;
/// A stream ends after kGone without a read, or after kPause and more than kOvertaken reads of
/// other streams.
constexpr std::uint64_t kOvertaken = 8;
constexpr std::chrono::milliseconds kPause{200}, kGone{2000};

}  // namespace

bool ReadStreams::Stream::is_in_order() const {
  return steps >= kOrderSteps && in_order >= kOrderBytes;
}

/// True if the reader skips more than three eighths, for example to read one plane of each chunk:
/// prefetching would fetch bytes that nobody reads.
bool ReadStreams::Stream::skips_much() const {
  const std::uint64_t span = next - begin;
  return span > kLeastSpan && taken < span / 8 * 5;
}

void ReadStreams::Stream::note(const ReadSpan& read) {
  // Several threads may make one reader's reads, out of order.
  taken += read.end - read.begin;
  if (read.end > next) {
    in_order += read.end - std::max(next, read.begin);
    steps++;
    next = read.end;
  }
  if (next - begin <= kMostSpan) return;
  // Halve the span and its bytes, so that old reads count less.
  begin += (next - begin) / 2;
  taken /= 2;
}

bool ReadStreams::belongs(const ReadSpan& read, const Stream& stream) {
  const std::uint64_t slack = stream.is_in_order() ? kSlack : 0;
  return read.begin <= std::max(stream.next, stream.planned) + kGap &&
         read.begin + slack >= stream.next;
}

ReadStreams::Stream& ReadStreams::stream_for(const ReadSpan& read) {
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const Stream& stream) { return belongs(read, stream); });
  if (found != streams_.end()) return *found;
  if (streams_.size() >= kMostStreams) {
    // Random reads leave many streams. Drop the oldest, and sequential ones last.
    const auto oldest =
        std::min_element(streams_.begin(), streams_.end(), [](const Stream& a, const Stream& b) {
          return a.is_in_order() != b.is_in_order() ? b.is_in_order() : a.number < b.number;
        });
    abandoned_.push_back({oldest->next, oldest->planned});
    streams_.erase(oldest);
  }
  Stream stream;
  stream.next = stream.planned = stream.begin = read.begin;
  streams_.push_back(stream);
  return streams_.back();
}

/// Returns how much the reader reads in `time` at its past speed, but at least kUsualRange.
std::uint64_t ReadStreams::reached_in(const Stream& stream, std::chrono::milliseconds time) {
  constexpr std::chrono::duration<double> kLeastTime = std::chrono::milliseconds(1);
  const std::chrono::duration<double> taken =
      std::max<std::chrono::duration<double>>(stream.time - stream.since, kLeastTime);
  const double bytes = static_cast<double>(stream.in_order) * (time / taken);
  constexpr double kMost = 1e12;
  return std::max(static_cast<std::uint64_t>(std::min(bytes, kMost)), kUsualRange);
}

ReadStreams::Ahead ReadStreams::on_read(const ReadSpan& read, std::size_t most,
                                        Clock::time_point now,
                                        std::chrono::milliseconds most_time) {
  Stream& stream = stream_for(read);
  if (stream.steps == 0) stream.since = now;
  stream.number = ++reads_;
  stream.time = now;
  stream.note(read);
  stream.planned = std::max(stream.planned, stream.next);
  if (!stream.is_in_order() || stream.skips_much()) return {};
  // Request as many bytes ahead as were read, so that a reader that stops has at most doubled the
  // cost. After a long run, request twice as many.
  const std::uint64_t grown = stream.in_order < kLongRun ? stream.in_order : 2 * stream.in_order;
  std::uint64_t target = std::min<std::uint64_t>(grown, most);
  if (most_time.count() > 0) target = std::min(target, reached_in(stream, most_time));
  // At least two ranges, and up to eight if each has 1 MiB or more.
  const std::size_t range =
      std::clamp(static_cast<std::size_t>(std::max(target / 8, std::min(target / 2, kUsualRange))),
                 kLeastRange, kMostRange);
  const ReadSpan ahead{stream.planned, stream.next + target};
  if (ahead.end < ahead.begin + range) return {};
  stream.planned = ahead.end;
  return {ahead, range};
}

bool ReadStreams::is_abandoned(const Stream& stream, Clock::time_point now) const {
  const auto pause = now - stream.time;
  return pause > kGone || (pause > kPause && reads_ - stream.number > kOvertaken);
}

std::vector<ReadSpan> ReadStreams::take_abandoned(Clock::time_point now) {
  std::vector<ReadSpan> left = std::move(abandoned_);
  abandoned_.clear();
  std::erase_if(streams_, [&](const Stream& stream) {
    if (!is_abandoned(stream, now)) return false;
    left.push_back({stream.next, stream.planned});
    return true;
  });
  // Do not return ranges that other streams will read.
  std::erase_if(left, [&](const ReadSpan& extent) {
    return extent.begin >= extent.end ||
           std::any_of(streams_.begin(), streams_.end(), [&](const Stream& stream) {
             return extent.begin < stream.planned && stream.next < extent.end;
           });
  });
  return left;
}

}  // namespace bloscfs::frame::inline store
