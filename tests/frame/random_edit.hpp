#pragma once
// Random changes to a flat frame of fixed-size chunks, made to a transaction and to a model alike.

#include <random>

#include "tests/frame/writing.hpp"

namespace bloscfs::frame::test {

/// Bytes that compress: runs, counters, noise.
Buffer random_content(std::mt19937& random, std::int64_t size);

/// Makes a few changes. `model` is the frame's state, and then the new one. `whole_items`: so are
/// all sizes.
void edit_at_random(Transaction& transaction, FrameContents& model, std::mt19937& random,
                    bool whole_items = false);

/// Seed of a test's random numbers: BLOSCFS_SEED, or another one each time, which is printed.
std::uint32_t random_seed();

}  // namespace bloscfs::frame::test
