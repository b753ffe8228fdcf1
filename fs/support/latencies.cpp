#include "fs/support/latencies.hpp"

#include <algorithm>
#include <bit>

namespace bloscfs::fs {
namespace {

/// Log2 of the number of buckets for each power of two.
constexpr unsigned kFineness = 2;
/// Number of buckets for each power of two.
constexpr std::uint64_t kOfOne = 1U << kFineness;

}  // namespace

std::size_t Latencies::bucket_of(std::uint64_t time) {
  if (time < 2 * kOfOne) return static_cast<std::size_t>(time);
  const auto power = static_cast<unsigned>(std::bit_width(time)) - 1 - kFineness;
  const std::uint64_t bucket = (power << kFineness) + (time >> power);
  return std::min<std::uint64_t>(bucket, kBuckets - 1);
}

std::uint64_t Latencies::longest_of(std::size_t bucket) {
  if (bucket < 2 * kOfOne) return bucket;
  const std::size_t power = (bucket >> kFineness) - 1;
  const std::uint64_t leading = bucket - (power << kFineness);
  return ((leading + 1) << power) - 1;
}

void Latencies::add(std::chrono::nanoseconds time) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  counts_[bucket_of(ns / 1000)].fetch_add(1, kRelaxed);
  total_ns_.fetch_add(ns, kRelaxed);
}

}  // namespace bloscfs::fs
