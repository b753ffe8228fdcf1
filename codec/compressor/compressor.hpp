#pragma once
// One interface for the stream formats (codec/formats/codecs.md). codec_table.hpp finds them by id.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// What a stream belongs to. Most codecs go by the bytes alone. Borrowed for the call.
struct CodecUse {
  Bytes dictionary = {};      ///< the chunk's, or empty
  CodecId id = {};            ///< the chunk's codec
  std::uint8_t meta = 0;      ///< its parameter
  std::int32_t typesize = 1;  ///< bytes of the container's items
  BlockShape shape = {};      ///< of the container's blocks, where it is an array
};

/// Decodes the streams of one format. Holds its library's context: one thread at a time.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Decodes `in` to exactly `out`. False if the stream is damaged or has another length; `out` is
  /// then unspecified. Throws Error where a codec that goes by an array's shape cannot do so with
  /// this one.
  virtual bool decompress(Bytes in, const CodecUse& use, MutableBytes out) = 0;
};

/// Encodes streams of one format at one level. Holds its library's context: one thread at a time.
/// The result depends on `in`, `use` and the level alone, not on earlier calls.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Encodes `in` to the front of `out`, which doesn't overlap it; returns the bytes written, or 0
  /// when they don't fit. Codecs that take no dictionary ignore it.
  virtual std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) = 0;
};

}  // namespace bloscfs::codec
