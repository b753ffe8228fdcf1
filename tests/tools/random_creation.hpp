#pragma once
// Random input for `b2frame create`: all kinds of contents, and options that suit them.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct Creation {
  ByteVector input;
  std::vector<std::int64_t> shape;  ///< of the array in the input
  bool is_array = false;            ///< the input is an NPY file
  Arguments options;
};

Creation random_flat_creation(std::mt19937_64& random);
Creation random_array_creation(std::mt19937_64& random);

/// Describes the input in messages.
std::string describe(const Creation& creation);

/// Returns BLOSCFS_SEED, or a random number if that is not set.
std::uint64_t creation_seed();

}  // namespace bloscfs::test
