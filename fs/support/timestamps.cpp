#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

}  // namespace

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

std::int64_t nanoseconds(const timespec& time) {
  // Wraps around modulo 2^64.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) * kNanoseconds +
                                   static_cast<std::uint64_t>(time.tv_nsec));
}

timespec time_of(std::int64_t nanoseconds) {
  const std::int64_t rest = (nanoseconds % kNanoseconds + kNanoseconds) % kNanoseconds;
  return {(nanoseconds - rest) / kNanoseconds, rest};
}

timespec modification_time(const frame::FileStamp& stamp) {
  return {stamp.mtime_s, stamp.mtime_ns};
}

}  // namespace bloscfs::fs
