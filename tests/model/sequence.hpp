#pragma once
// A run of random operations on a mount and beside it, with remounts between and a look at SOURCE
// after the last one.

#include <cstdint>
#include <memory>

#include "tests/model/lockstep.hpp"
#include "tests/model/variant.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

inline constexpr std::uint64_t kSequenceLength = 800;

/// `count` operations on a mount that is there. Throws Difference.
void run_operations(Lockstep& lockstep, const Variant& variant, std::uint64_t seed,
                    std::uint64_t count);

/// One sequence: mount, operations, remounts, and what is in SOURCE then. Throws Difference.
Counts run_sequence(const Variant& variant, std::uint64_t seed, std::uint64_t count);

}  // namespace bloscfs::test
