#pragma once
// Bytedelta: differences of neighbouring bytes within each byte stream (codec/formats/filters.md,
// "Bytedelta").

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

enum class BytedeltaKind {
  current,
  old,  ///< filter 34: vectorised writers restarted at the last 0..15 bytes of each stream
};

/// Applies bytedelta. The input consists of `streams` >= 1 byte streams of equal length; bytes
/// after them are copied. `in` and `out` have equal sizes and must not overlap.
void bytedelta(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind);
/// Undoes bytedelta().
void unbytedelta(MutableBytes data, std::size_t streams, BytedeltaKind kind);

/// Reference versions for tests, which work byte by byte.
void bytedelta_scalar(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind);
void unbytedelta_scalar(MutableBytes data, std::size_t streams, BytedeltaKind kind);

}  // namespace bloscfs::codec
