#pragma once
// Truncation: low bits of every element become zero (codec/formats/filters.md, "Truncate precision"
// and "Int_trunc"). Nothing to undo.

#include <cstddef>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// Low bits that trunc_prec or int_trunc clears in elements of `typesize` bytes; nothing where the
/// filter doesn't go with that size, or its parameter leaves no bit or asks for more than there
/// are.
std::optional<int> truncated_bits(const FilterStep& step, std::size_t typesize);

/// `typesize` is 1, 2, 4 or 8 bytes, `bits` less than an element has. `in` and `out` have equal
/// sizes and don't overlap; bytes behind the last whole element are copied.
void truncate(Bytes in, MutableBytes out, std::size_t typesize, int bits);

}  // namespace bloscfs::codec
