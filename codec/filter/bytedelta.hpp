#pragma once
// Bytedelta: differences of neighbouring bytes within each byte stream (codec/formats/filters.md,
// "Bytedelta").

#include <cstddef>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

enum class BytedeltaKind {
  current,
  old,  ///< filter 34: vectorised writers started again at each stream's last 0..15 bytes
};

/// `data` is `streams` >= 1 byte streams of equal length; bytes behind them are copied. `in` and
/// `out` have equal sizes and don't overlap.
void bytedelta(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind);
/// Undoes bytedelta.
void unbytedelta(MutableBytes data, std::size_t streams, BytedeltaKind kind);

/// The same, byte by byte: what tests compare with.
void bytedelta_scalar(Bytes in, MutableBytes out, std::size_t streams, BytedeltaKind kind);
void unbytedelta_scalar(MutableBytes data, std::size_t streams, BytedeltaKind kind);

}  // namespace bloscfs::codec
