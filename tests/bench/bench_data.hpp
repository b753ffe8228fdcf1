#pragma once
// Contents that the codec's benchmark works on: the same bytes for the same size.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::test {

/// `size` bytes of what items of `typesize` bytes often are: text for 1, a noisy ramp of integers
/// for 2 and 3, a smooth field of doubles for multiples of 8 and of floats for the others.
std::vector<std::uint8_t> make_contents(std::size_t typesize, std::size_t size);

}  // namespace bloscfs::test
