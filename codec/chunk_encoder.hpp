#pragma once
// Builds chunks from their contents, and from older chunks of which some blocks have changed.
// Owns codec contexts and scratch memory: one encoder per thread at a time.

#include <cstdint>
#include <span>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/block_encoder.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::codec {

/// A chunk for a frame. Zeros and NaNs, if whole items, have no stored bytes: the frame's index
/// says it all.
struct EncodedChunk {
  SpecialValue special = SpecialValue::none;  ///< none, zero or nan
  std::vector<std::uint8_t> bytes;            ///< empty unless special is none
};

/// The same where the caller has the bytes.
struct EncodedSize {
  SpecialValue special = SpecialValue::none;
  std::size_t stored = 0;  ///< bytes written, 0 unless special is none
};

/// New contents of one block, as many bytes as it has.
struct BlockUpdate {
  std::int32_t block = 0;
  Bytes contents;
};

/// The same contents and settings give the same bytes, whatever was encoded before.
class ChunkEncoder {
 public:
  /// Throws Error as check_settings does.
  explicit ChunkEncoder(const EncodeSettings& settings);

  const EncodeSettings& settings() const { return settings_; }
  /// Others for what follows. Codec contexts are kept where the level stays: to make one takes as
  /// long as to compress some ten KiB. Throws as the constructor does, and changes nothing then.
  void use(const EncodeSettings& settings);

  /// The most that a chunk of `nbytes` takes, stored.
  static std::size_t max_stored_size(std::size_t nbytes) { return nbytes + kExtendedHeaderSize; }

  /// A chunk of all `contents`. Chunks for Blosc1 are never special. Throws Error (too_large)
  /// beyond kMaxChunkNbytes.
  EncodedChunk encode(Bytes contents);
  /// The same into the front of `out`, which has max_stored_size() bytes and overlaps nothing.
  EncodedSize encode_into(Bytes contents, MutableBytes out);
  /// The same with special chunks written out as well, for chunks that stand alone.
  std::vector<std::uint8_t> encode_stored(Bytes contents);

  /// `old`, whose stored bytes are `old_stored`, with new contents of some blocks. The others'
  /// bytes are copied, and the chunk keeps its codec, filters, block size and dictionary. Where
  /// that cannot be (the chunk has no blocks or is of a kind that we only read, its codec or
  /// filters lose something every time, all blocks are new, or block 0 is and others refer to it,
  /// or the result would outgrow max_stored_size()), all is decoded and encoded afresh by the
  /// settings; that throws Error for blocks that don't decode.
  EncodedChunk update(const Chunk& old, Bytes old_stored, std::span<const BlockUpdate> changed);
  /// The same into the front of `out`, which has max_stored_size() bytes and overlaps nothing.
  EncodedSize update_into(const Chunk& old, Bytes old_stored, std::span<const BlockUpdate> changed,
                          MutableBytes out);

  /// Bytes of scratch held now, codec contexts not counted.
  std::size_t scratch_memory() const;
  /// Gives back scratch above `keep` bytes.
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
  BlockDecoder decoder_;              ///< of chunks to update
  std::vector<std::uint8_t> buffer_;  ///< a chunk as it is built
};

}  // namespace bloscfs::codec
