#pragma once
// Contents for the benchmark of the codec: always the same bytes for the same size.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::test {

/// Returns `size` bytes of typical items of `typesize` bytes: text for 1, a noisy ramp of integers
/// for 2 and 3, a smooth field of doubles for multiples of 8, and one of floats for other sizes.
std::vector<std::uint8_t> make_contents(std::size_t typesize, std::size_t size);

}  // namespace bloscfs::test
