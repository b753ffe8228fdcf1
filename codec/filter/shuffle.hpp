#pragma once
// Shuffle: byte j of every element goes to stream j (filters.md, section 2).

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Both directions: `in` and `out` have equal sizes and don't overlap; `width` >= 1 is the element
/// size in bytes. Bytes behind the last whole element are copied.
void shuffle(Bytes in, MutableBytes out, std::size_t width);
void unshuffle(Bytes in, MutableBytes out, std::size_t width);

/// The same, element by element: what tests compare with.
void shuffle_scalar(Bytes in, MutableBytes out, std::size_t width);
void unshuffle_scalar(Bytes in, MutableBytes out, std::size_t width);

}  // namespace bloscfs::codec
