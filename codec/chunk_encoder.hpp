#pragma once
// Builds chunks from their contents, or from older chunks with some changed blocks. An encoder owns
// codec contexts and scratch memory, so only one thread at a time may use it.

#include <cstdint>
#include <span>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/block_encoder.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::codec {

/// A chunk for a frame. A chunk with whole items that are all zero or all NaN has no stored bytes:
/// the frame's index describes it.
struct EncodedChunk {
  SpecialValue special = SpecialValue::none;  ///< none, zero or nan
  std::vector<std::uint8_t> bytes;            ///< empty unless special is none
};

/// The result of encoding into the caller's memory.
struct EncodedSize {
  SpecialValue special = SpecialValue::none;
  std::size_t stored = 0;  ///< bytes written, 0 unless special is none
};

/// New contents of one block. They have the size of the old ones.
struct BlockUpdate {
  std::int32_t block = 0;
  Bytes contents;
};

/// Encodes chunks. The result depends only on contents and settings, not on earlier calls.
class ChunkEncoder {
 public:
  /// Throws Error (unwritable) if check_settings() refuses the settings.
  explicit ChunkEncoder(const EncodeSettings& settings);

  const EncodeSettings& settings() const { return settings_; }
  /// Changes the settings for later calls. Keeps codec contexts if the level stays the same, since
  /// making one takes as long as compressing some ten KiB. Throws like the constructor, and then
  /// changes nothing.
  void use(const EncodeSettings& settings);

  /// Returns the largest stored size of a chunk of `nbytes`.
  static std::size_t max_stored_size(std::size_t nbytes) { return nbytes + kExtendedHeaderSize; }

  /// Encodes `contents` as one chunk. Chunks for Blosc1 are never special. Throws Error (too_large)
  /// beyond kMaxChunkNbytes.
  EncodedChunk encode(Bytes contents);
  /// Like encode(), but writes to the start of `out`, which has at least max_stored_size() bytes
  /// and overlaps no input.
  EncodedSize encode_into(Bytes contents, MutableBytes out);
  /// Like encode(), but also writes out special chunks, for chunks outside a frame.
  std::vector<std::uint8_t> encode_stored(Bytes contents);

  /// Returns `old`, whose stored bytes are `old_stored`, with new contents of some blocks. Copies
  /// the stored bytes of the other blocks. The chunk keeps its codec, filters, block size and
  /// dictionary.
  ///
  /// In the following cases, decodes the whole chunk and encodes it again by the settings:
  /// - the chunk has no blocks, or is of a kind that is only read
  /// - its codec or filters lose something at each encoding
  /// - all blocks change
  /// - block 0 changes and others refer to it
  /// - the result would exceed max_stored_size()
  ///
  /// Decoding throws Error if a block does not decode.
  EncodedChunk update(const Chunk& old, Bytes old_stored, std::span<const BlockUpdate> changed);
  /// Like update(), but writes to the start of `out`, which has at least max_stored_size() bytes
  /// and overlaps no input.
  EncodedSize update_into(const Chunk& old, Bytes old_stored, std::span<const BlockUpdate> changed,
                          MutableBytes out);

  /// Returns the bytes of scratch memory in use, without codec contexts.
  std::size_t scratch_memory() const;
  /// Frees scratch memory until at most `keep` bytes are in use.
  void trim(std::size_t keep);

 private:
  ChunkHeader plan(Bytes contents) const;
  EncodedSize store_special(ChunkHeader header, SpecialValue special, Bytes contents,
                            MutableBytes out) const;
  EncodedSize store_plain(ChunkHeader header, Bytes contents, MutableBytes out) const;
  EncodedSize store_blocks(const ChunkHeader& header, Bytes contents, MutableBytes out);
  EncodedSize store_with_dictionary(const ChunkHeader& header, Bytes contents, MutableBytes out);
  Bytes filter_block(const ChunkHeader& header, Bytes contents, std::int32_t block);
  MutableBytes buffer_of(std::size_t size);
  EncodedChunk to_chunk(EncodedSize size) const;

  EncodedSize replace_blocks(const Chunk& old, Bytes old_stored,
                             std::span<const BlockUpdate* const> changes, MutableBytes out);
  std::vector<std::uint8_t> merged_contents(const Chunk& old, Bytes old_stored,
                                            std::span<const BlockUpdate* const> changes);
  void decode_block(const Chunk& old, Bytes old_stored, std::int32_t block, Bytes reference,
                    MutableBytes out);
  std::vector<std::uint8_t> decode_reference(const Chunk& old, Bytes old_stored);

  EncodeSettings settings_;
  BlockEncoder blocks_;
  BlockDecoder decoder_;              ///< decodes chunks to update
  std::vector<std::uint8_t> buffer_;  ///< a chunk while it is built
};

}  // namespace bloscfs::codec
