#pragma once
// Random changes to a flat frame of fixed-size chunks. They are applied to a transaction and to a
// model.

#include <random>

#include "tests/frame/writing.hpp"

namespace bloscfs::frame::test {

/// Returns bytes that compress: runs, counters and noise.
Buffer random_content(std::mt19937& random, std::int64_t size);

/// Makes a few changes to a transaction. `model` holds the frame's state, and is changed in the
/// same way. If `whole_items` is true, all sizes are multiples of the item size.
void edit_at_random(Transaction& transaction, FrameContents& model, std::mt19937& random,
                    bool whole_items = false);

/// Returns the seed of a test's random numbers: BLOSCFS_SEED, or a different one in each run, which
/// is printed.
std::uint32_t random_seed();

}  // namespace bloscfs::frame::test
