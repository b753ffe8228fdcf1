#pragma once
// What b2frame create is given in tests: contents of all kinds, and options that suit them.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct Creation {
  ByteVector input;
  std::vector<std::int64_t> shape;  ///< of the array in it
  bool is_array = false;            ///< it is a NPY file
  Arguments options;
};

Creation random_flat_creation(std::mt19937_64& random);
Creation random_array_creation(std::mt19937_64& random);

/// For messages.
std::string describe(const Creation& creation);

/// BLOSCFS_SEED, or another one each time.
std::uint64_t creation_seed();

}  // namespace bloscfs::test
