#pragma once
// Encodes one block to its stored bytes: first filters, then streams (codec/formats/chunk.md,
// "Blocks and streams"). An encoder owns codec contexts and scratch memory, so only one thread at a
// time may use it.

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class Compressor;

class BlockEncoder {
 public:
  /// At level 0, streams are stored uncompressed.
  explicit BlockEncoder(int clevel);
  ~BlockEncoder();
  BlockEncoder(BlockEncoder&&) noexcept;
  BlockEncoder& operator=(BlockEncoder&&) noexcept;

  /// Applies the chunk's filters to a block. The result is valid until the next call, and no longer
  /// than `contents`. If `own_reference`, the block is its own delta reference; else `reference` is
  /// the contents of block 0.
  Bytes filter(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes contents);

  /// Writes the streams of a filtered block to the start of `out`, which must not overlap it.
  /// Returns the number of bytes written, or 0 if they do not fit. The codec must be one that can
  /// be written.
  std::size_t write_streams(const ChunkHeader& header, Bytes filtered, Bytes dictionary,
                            MutableBytes out);

  /// Returns the bytes of scratch memory in use, without codec contexts.
  std::size_t scratch_memory() const;
  /// Frees scratch memory until at most `keep` bytes are in use.
  void trim(std::size_t keep);

 private:
  struct StreamEncoder {
    std::unique_ptr<Compressor> compressor;
    bool slow_on_noise;  ///< whether the codec is slow on noise at this level
  };

  std::size_t write_stream(const ChunkHeader& header, Bytes stream, Bytes dictionary,
                           MutableBytes out);
  std::size_t compress(const ChunkHeader& header, Bytes stream, Bytes dictionary, MutableBytes out);
  bool is_incompressible(Bytes stream, MutableBytes out);
  StreamEncoder& encoder(CodecId id);

  int clevel_;
  std::map<CodecId, StreamEncoder> encoders_;
  std::array<std::vector<std::uint8_t>, 2> scratch_;
};

}  // namespace bloscfs::codec
