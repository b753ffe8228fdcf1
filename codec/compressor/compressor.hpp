#pragma once
// One interface for the stream formats of codecs.md, found by codec id.

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

}  // namespace bloscfs::codec
