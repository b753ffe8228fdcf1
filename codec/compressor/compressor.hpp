#pragma once
// One interface for the stream formats (codec/formats/codecs.md), found by codec id.

#include <cstddef>
#include <memory>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// Decodes the streams of one format. Holds its library's context: one thread at a time.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Decodes `in` to exactly `out`. `dictionary` is the chunk's, or empty. False if the stream is
  /// damaged or has another length; `out` is then unspecified.
  virtual bool decompress(Bytes in, Bytes dictionary, MutableBytes out) = 0;
};

/// A decompressor for `id`, or null if that is a codec that we don't have.
std::unique_ptr<Decompressor> make_decompressor(CodecId id);

/// Encodes streams of one format at one level. Holds its library's context: one thread at a time.
/// The result depends on `in`, `dictionary` and the level alone, not on earlier calls.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Encodes `in` to the front of `out`, which doesn't overlap it; returns the bytes written, or 0
  /// when they don't fit. `dictionary` is the chunk's, or empty; only LZ4 and Zstandard heed it.
  virtual std::size_t compress(Bytes in, Bytes dictionary, MutableBytes out) = 0;
};

/// True if `id` is a codec that we write.
bool can_compress(CodecId id);

/// A compressor for `id` at `clevel` 1..9, or null unless can_compress(id).
std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel);

}  // namespace bloscfs::codec
