#pragma once
// One interface for the stream formats (codec/formats/codecs.md). codec_table.hpp finds them by id.

#include <cstddef>
#include <memory>

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// Decodes the streams of one format. Holds its library's context: one thread at a time.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Decodes `in` to exactly `out`. `dictionary` is the chunk's, or empty. False if the stream is
  /// damaged or has another length; `out` is then unspecified.
  virtual bool decompress(Bytes in, Bytes dictionary, MutableBytes out) = 0;
};

/// Encodes streams of one format at one level. Holds its library's context: one thread at a time.
/// The result depends on `in`, `dictionary` and the level alone, not on earlier calls.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Encodes `in` to the front of `out`, which doesn't overlap it; returns the bytes written, or 0
  /// when they don't fit. `dictionary` is the chunk's, or empty; codecs that take none ignore it.
  virtual std::size_t compress(Bytes in, Bytes dictionary, MutableBytes out) = 0;
};

}  // namespace bloscfs::codec
