#pragma once
// Encodes one block to its stored bytes: filters, then streams (codec/formats/chunk.md, "Blocks and
// streams"). Owns codec contexts and scratch memory: one encoder per thread at a time.

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
  /// Level 0 stores streams as they are.
  explicit BlockEncoder(int clevel);
  ~BlockEncoder();
  BlockEncoder(BlockEncoder&&) noexcept;
  BlockEncoder& operator=(BlockEncoder&&) noexcept;

  /// The block as the chunk's filters leave it, valid until the next call or as long as `contents`.
  /// `own_reference`: the block is its own delta reference; else `reference` is block 0's contents.
  Bytes filter(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes contents);

  /// Writes the streams of a filtered block to the front of `out`, which doesn't overlap it.
  /// Returns the bytes written, or 0 when they don't fit. The codec is one that we write.
  std::size_t write_streams(const ChunkHeader& header, Bytes filtered, Bytes dictionary,
                            MutableBytes out);

  /// Bytes of scratch held now, codec contexts not counted.
  std::size_t scratch_memory() const;
  /// Gives back scratch above `keep` bytes.
  void trim(std::size_t keep);

 private:
  struct StreamEncoder {
    std::unique_ptr<Compressor> compressor;
    bool slow_on_noise;  ///< at this level
  };

  std::size_t write_stream(const ChunkHeader& header, Bytes stream, Bytes dictionary,
                           MutableBytes out);
  std::size_t compress(const ChunkHeader& header, Bytes stream, Bytes dictionary, MutableBytes out);
  bool is_hopeless(Bytes stream, MutableBytes out);
  StreamEncoder& encoder(CodecId id);

  int clevel_;
  std::map<CodecId, StreamEncoder> encoders_;
  std::array<std::vector<std::uint8_t>, 2> scratch_;
};

}  // namespace bloscfs::codec
