#pragma once
// Shuffle: byte j of every element goes to stream j (codec/formats/filters.md, "Shuffle").

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// The largest element size in bytes; the format has one byte for it.
inline constexpr std::size_t kMaxShuffleWidth = 255;

/// Both directions. `in` and `out` have equal sizes and must not overlap. `width` >= 1 is the
/// element size in bytes. Bytes after the last whole element are copied.
void shuffle(Bytes in, MutableBytes out, std::size_t width);
void unshuffle(Bytes in, MutableBytes out, std::size_t width);

/// Undoes shuffle of whole elements whose streams may be at any address. There is one stream for
/// each byte of an element (2 to 255). Each has as many bytes as `out` has elements.
void unshuffle_streams(std::span<const std::uint8_t* const> streams, MutableBytes out);

/// Reference versions of shuffle() and unshuffle() for tests, which work element by element.
void shuffle_scalar(Bytes in, MutableBytes out, std::size_t width);
void unshuffle_scalar(Bytes in, MutableBytes out, std::size_t width);

}  // namespace bloscfs::codec
