#pragma once
// Counts how long something took, in buckets of similar times.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bloscfs::fs {

/// Buckets in microseconds: 0, 1, ... 7, 8 to 9, 10 to 11, ... up to more than an hour. There are
/// four buckets for each power of two, so the times of one bucket differ by less than a quarter.
/// Thread-safe, without locks. Counts that are read while other threads add times may belong to
/// different moments.
class Latencies {
 public:
  static constexpr std::size_t kBuckets = 124;

  /// Returns the bucket of a time in microseconds. The last bucket also holds all longer times.
  static std::size_t bucket_of(std::uint64_t time);
  /// Returns the longest time of a bucket, in microseconds.
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
