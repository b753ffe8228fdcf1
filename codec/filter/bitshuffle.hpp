#pragma once
// Bitshuffle: bit k of byte j of every element goes to bit row 8*j+k (codec/formats/filters.md,
// "Bitshuffle").

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Both directions, by the rule of Blosc2: elements beyond the last multiple of eight, and bytes
/// after the last element, are copied. `in` and `out` have equal sizes and must not overlap.
/// `typesize` is 1..255 bytes.
void bitshuffle(Bytes in, MutableBytes out, std::size_t typesize);
void bitunshuffle(Bytes in, MutableBytes out, std::size_t typesize);

/// Reference versions for tests, which work bit by bit.
void bitshuffle_scalar(Bytes in, MutableBytes out, std::size_t typesize);
void bitunshuffle_scalar(Bytes in, MutableBytes out, std::size_t typesize);

}  // namespace bloscfs::codec
