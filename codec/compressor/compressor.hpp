#pragma once
// One interface for all stream formats (codec/formats/codecs.md). codec_table.hpp finds them by id.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

/// The context of a stream. Most codecs use only the stream's bytes. Borrowed for the call.
struct CodecUse {
  Bytes dictionary = {};      ///< of the chunk, or empty
  CodecId id = {};            ///< of the chunk
  std::uint8_t meta = 0;      ///< the codec's parameter
  std::int32_t typesize = 1;  ///< bytes of the container's items
  BlockShape shape = {};      ///< of the container's blocks, if it is an array
};

/// Decodes streams of one format. Owns its library's context, so only one thread at a time may use
/// it.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Decodes `in` to exactly `out`. Returns false if the stream is damaged or has another length;
  /// `out` is then unspecified. Throws Error if the codec needs the shape of an array, and
  /// `use.shape` does not fit.
  virtual bool decompress(Bytes in, const CodecUse& use, MutableBytes out) = 0;
};

/// Encodes streams of one format at one level. Owns its library's context, so only one thread at a
/// time may use it. The result depends only on `in`, `use` and the level, not on earlier calls.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Encodes `in` to the start of `out`, which must not overlap it. Returns the number of bytes
  /// written, or 0 if they do not fit. Codecs that take no dictionary ignore it.
  virtual std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) = 0;
};

}  // namespace bloscfs::codec
