#pragma once
// How many operations a run does, and its report.

#include <cstdint>
#include <map>
#include <string>

#include "tests/model/operation.hpp"

namespace bloscfs::test {

/// Set by the environment variables BLOSCFS_MODEL_OPERATIONS and BLOSCFS_MODEL_SEED.
struct RunSize {
  std::uint64_t operations;  ///< in each variant
  std::uint64_t seed;        ///< of the first sequence; each later sequence has the next number
};
RunSize run_size();

/// How often an operation was tried, and how it ended.
struct Count {
  std::uint64_t worked = 0, failed = 0, refused = 0;
};
using Counts = std::map<std::string, Count>;
void add_counts(Counts& sum, const Counts& more);

void print_counts(const std::string& variant, const Counts& counts);
/// Checks after a long run that each kind of operation has worked at least once.
void require_all_kinds(const OperationKinds& kinds, const Counts& counts);

}  // namespace bloscfs::test
