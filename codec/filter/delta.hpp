#pragma once
// Delta: XOR with the element before, or with the chunk's first block (codec/formats/filters.md,
// "Delta"). `typesize` decides the word; bytes behind the last whole word are kept.

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Bytes of the word that is XORed: 1, 2, 4 or 8.
std::size_t delta_word(std::size_t typesize);

/// For blocks that are their own reference. `in` and `out` have equal sizes and don't overlap.
void delta_running(Bytes in, MutableBytes out, std::size_t typesize);
/// Undoes delta_running.
void undelta_running(MutableBytes data, std::size_t typesize);
/// For the other blocks, both directions. `reference` is not shorter than `data`.
void delta_reference(MutableBytes data, Bytes reference, std::size_t typesize);
/// The same from `in` to `out`, which have equal sizes.
void delta_reference(Bytes in, Bytes reference, MutableBytes out, std::size_t typesize);

/// The same, byte by byte: what tests compare with.
void delta_running_scalar(Bytes in, MutableBytes out, std::size_t typesize);
void undelta_running_scalar(MutableBytes data, std::size_t typesize);
void delta_reference_scalar(MutableBytes data, Bytes reference, std::size_t typesize);

}  // namespace bloscfs::codec
