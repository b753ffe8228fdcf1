#pragma once
// Makes random choices. They depend only on the seed.

#include <cstdint>
#include <random>
#include <vector>

namespace bloscfs::test {

using Random = std::mt19937_64;

/// Returns a number from `low` to `high`, both included.
inline int between(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<int>(std::uniform_int_distribution<std::int64_t>(low, high)(random));
}

/// True with probability 1/n.
inline bool one_in(Random& random, int n) { return between(random, 1, n) == 1; }

template <typename T>
T pick(Random& random, const std::vector<T>& from) {
  return from[static_cast<std::size_t>(between(random, 0, std::ssize(from) - 1))];
}

}  // namespace bloscfs::test
