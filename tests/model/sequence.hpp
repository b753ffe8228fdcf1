#pragma once
// A run of random operations on a mount and on a model, with remounts, and with a check of SOURCE
// at the end.

#include <cstdint>
#include <memory>

#include "tests/model/lockstep.hpp"
#include "tests/model/variant.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

inline constexpr std::uint64_t kSequenceLength = 800;

/// Does `count` operations on an existing mount. Throws Difference.
void run_operations(Lockstep& lockstep, const Variant& variant, std::uint64_t seed,
                    std::uint64_t count);

/// Runs one sequence: mount, operations, remounts, and a check of SOURCE. Throws Difference.
Counts run_sequence(const Variant& variant, std::uint64_t seed, std::uint64_t count);

}  // namespace bloscfs::test
