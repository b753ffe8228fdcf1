#pragma once
// Shuffle: byte j of every element goes to stream j (codec/formats/filters.md, "Shuffle").

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Width of elements, which the format has one byte for.
inline constexpr std::size_t kMaxShuffleWidth = 255;

/// Both directions: `in` and `out` have equal sizes and don't overlap; `width` >= 1 is the element
/// size in bytes. Bytes behind the last whole element are copied.
void shuffle(Bytes in, MutableBytes out, std::size_t width);
void unshuffle(Bytes in, MutableBytes out, std::size_t width);

/// Undoes shuffle of whole elements whose streams lie anywhere: `streams` has one for each byte of
/// an element (2 to 255), with as many bytes as `out` has elements.
void unshuffle_streams(std::span<const std::uint8_t* const> streams, MutableBytes out);

/// The same as the first two, element by element: what tests compare with.
void shuffle_scalar(Bytes in, MutableBytes out, std::size_t width);
void unshuffle_scalar(Bytes in, MutableBytes out, std::size_t width);

}  // namespace bloscfs::codec
