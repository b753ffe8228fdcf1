#pragma once
// Contents of special-value chunks: a short pattern, repeated (codec/formats/chunk.md, "Special
// values").

#include <cstdint>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// True for zeros, and for uninitialised contents, which read as zeros.
constexpr bool reads_as_zeros(SpecialValue value) {
  return value == SpecialValue::zero || value == SpecialValue::uninit;
}

/// The item that repeats for zeros (one byte), uninitialised contents and quiet
/// NaNs of 4 or 8 bytes. Throws Error for NaNs of another size and for SpecialValue::value.
Bytes special_pattern(SpecialValue value, std::int32_t typesize);

/// Fills `out` with what stands from `content_offset` on in endless repetitions of `pattern`, which
/// must not be empty.
void fill_pattern(Bytes pattern, std::int64_t content_offset, MutableBytes out);

/// True if all bytes equal the first one. `bytes` is not empty.
bool is_run(Bytes bytes);

/// What all of `contents` repeat: zero bytes, the format's NaN of `typesize` 4 or 8 bytes, or
/// (value) any item of `typesize` bytes that stands there at least twice; else none. None, too,
/// unless they are whole items: C-Blosc2 2.17 does not read such chunks, not even its own.
SpecialValue find_special(Bytes contents, std::int32_t typesize);

}  // namespace bloscfs::codec
