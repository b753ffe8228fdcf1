#pragma once
// Delta: XOR with the element before, or with the chunk's first block (codec/formats/filters.md,
// "Delta"). `typesize` determines the word size. Bytes after the last whole word are copied.

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Returns the size of the XORed word: 1, 2, 4 or 8 bytes.
std::size_t delta_word(std::size_t typesize);

/// Applies delta to a block that is its own reference. `in` and `out` have equal sizes and must not
/// overlap.
void delta_running(Bytes in, MutableBytes out, std::size_t typesize);
/// Undoes delta_running().
void undelta_running(MutableBytes data, std::size_t typesize);
/// Applies or undoes delta in another block. `reference` must be at least as long as `data`.
void delta_reference(MutableBytes data, Bytes reference, std::size_t typesize);
/// Applies delta from `in` to `out`, which have equal sizes.
void delta_reference(Bytes in, Bytes reference, MutableBytes out, std::size_t typesize);

/// Reference versions for tests, which work byte by byte.
void delta_running_scalar(Bytes in, MutableBytes out, std::size_t typesize);
void undelta_running_scalar(MutableBytes data, std::size_t typesize);
void delta_reference_scalar(MutableBytes data, Bytes reference, std::size_t typesize);

}  // namespace bloscfs::codec
