#pragma once
// Contents of special-value chunks: a short repeated pattern (codec/formats/chunk.md, "Special
// values").

#include <cstdint>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// True for zeros, and for uninitialised contents, which are read as zeros.
constexpr bool reads_as_zeros(SpecialValue value) {
  return value == SpecialValue::zero || value == SpecialValue::uninit;
}

/// Returns the repeated item: one zero byte for zeros and uninitialised contents, or a quiet NaN of
/// 4 or 8 bytes. Throws Error for NaNs of another size and for SpecialValue::value.
Bytes special_pattern(SpecialValue value, std::int32_t typesize);

/// Fills `out` with endless repetitions of `pattern`, from `content_offset` on. `pattern` must not
/// be empty.
void fill_pattern(Bytes pattern, std::int64_t content_offset, MutableBytes out);

/// True if all bytes equal the first one. `bytes` must not be empty.
bool is_run(Bytes bytes);

/// Returns what all of `contents` repeat:
/// - zero: zero bytes
/// - nan: the format's NaN of `typesize` 4 or 8 bytes
/// - value: any item of `typesize` bytes that occurs at least twice
/// - none: otherwise, and if the contents are not whole items
/// C-Blosc2 2.17 cannot read special chunks without whole items, not even its own.
SpecialValue find_special(Bytes contents, std::int32_t typesize);

}  // namespace bloscfs::codec
