#pragma once
// Random choices that depend on the seed alone.

#include <cstdint>
#include <random>
#include <vector>

namespace bloscfs::test {

using Random = std::mt19937_64;

/// From low to high, both included.
inline int between(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<int>(std::uniform_int_distribution<std::int64_t>(low, high)(random));
}

/// True once in n times.
inline bool one_in(Random& random, int n) { return between(random, 1, n) == 1; }

template <typename T>
T pick(Random& random, const std::vector<T>& from) {
  return from[static_cast<std::size_t>(between(random, 0, std::ssize(from) - 1))];
}

}  // namespace bloscfs::test
