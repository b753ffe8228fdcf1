#pragma once
// How many operations a run is asked for, and what it tells of them.

#include <cstdint>
#include <map>
#include <string>

#include "tests/model/operation.hpp"

namespace bloscfs::test {

/// What a run is asked for, by the environment: BLOSCFS_MODEL_OPERATIONS, BLOSCFS_MODEL_SEED.
struct RunSize {
  std::uint64_t operations;  ///< in each variant
  std::uint64_t seed;        ///< of its first sequence; the next one has the next number
};
RunSize run_size();

/// How often an operation was tried, and how it ended.
struct Count {
  std::uint64_t worked = 0, failed = 0, refused = 0;
};
using Counts = std::map<std::string, Count>;
void add_counts(Counts& sum, const Counts& more);

void print_counts(const std::string& variant, const Counts& counts);
/// Of a long run: a kind of operation that never worked would have tested nothing.
void require_all_kinds(const OperationKinds& kinds, const Counts& counts);

}  // namespace bloscfs::test
