#pragma once
// The range of a set of numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace bloscfs::fs {

/// The range of the finite numbers, and how many other ones there are.
struct ValueRange {
  double min = 0, max = 0;  ///< both 0 if no number is finite
  std::int64_t finite = 0, nans = 0, infinities = 0;
  std::int64_t unreadable = 0;  ///< elements that could not be read

  /// `value` is nullopt if it is unreadable.
  void add(std::optional<double> value) {
    if (!value)
      unreadable++;
    else if (std::isnan(*value))
      nans++;
    else if (std::isinf(*value))
      infinities++;
    else
      add(ValueRange{*value, *value, 1});
  }
  void add(const ValueRange& other) {
    if (other.finite > 0) {
      min = finite == 0 ? other.min : std::min(min, other.min);
      max = finite == 0 ? other.max : std::max(max, other.max);
    }
    finite += other.finite;
    nans += other.nans;
    infinities += other.infinities;
    unreadable += other.unreadable;
  }
  std::int64_t read() const { return finite + nans + infinities; }
};

}  // namespace bloscfs::fs
