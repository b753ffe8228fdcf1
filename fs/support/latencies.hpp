#pragma once
// How long something took, each time, as counts of times that are about as long.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bloscfs::fs {

/// Buckets of microseconds, four for each power of two, so that a time is known to a quarter: 0, 1,
/// ... 7, 8 to 9, 10 to 11, ... up to an hour and more. Thread-safe, without locks; what is read
/// while others add need not be of one moment.
class Latencies {
 public:
  static constexpr std::size_t kBuckets = 124;

  /// Of a time in microseconds; the last one has all that are longer.
  static std::size_t bucket_of(std::uint64_t time);
  /// The longest time of a bucket, in microseconds.
  static std::uint64_t longest_of(std::size_t bucket);

  void add(std::chrono::nanoseconds time);
  std::uint64_t count_of(std::size_t bucket) const { return counts_[bucket].load(kRelaxed); }
  std::uint64_t total_us() const { return total_ns_.load(kRelaxed) / 1000; }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
  std::atomic<std::uint64_t> total_ns_{0};
};

}  // namespace bloscfs::fs
