#pragma once
// Truncation: sets low bits of each element to zero (codec/formats/filters.md, "Truncate precision"
// and "Int_trunc"). Nothing has to be undone.

#include <cstddef>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// Returns how many low bits trunc_prec or int_trunc clears in elements of `typesize` bytes.
/// Returns nullopt if the filter does not support that size, or if the parameter leaves no bit or
/// exceeds the bits of an element.
std::optional<int> truncated_bits(const FilterStep& step, std::size_t typesize);

/// Clears the lowest `bits` of each element, fewer than it has. `typesize` is 1, 2, 4 or 8 bytes.
/// `in` and `out` have equal sizes and must not overlap. Bytes after the last whole element are
/// copied.
void truncate(Bytes in, MutableBytes out, std::size_t typesize, int bits);

}  // namespace bloscfs::codec
