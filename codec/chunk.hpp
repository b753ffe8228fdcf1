#pragma once
// An opened ("lazy") chunk: header, block starts and dictionary, but not the blocks. Immutable
// after construction, so any thread may use it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class Chunk {
 public:
  /// Makes a special-value chunk without stored bytes, which an index entry of a frame describes.
  /// Its contents are `nbytes` bytes of zeros (zero, uninit), or of NaNs of `typesize` 4 or 8
  /// bytes.
  static Chunk make_special(SpecialValue value, std::int32_t nbytes, std::int32_t typesize);

  /// Returns how many stored bytes at the start the constructor needs: header, block starts and
  /// size of the dictionary, or header and repeated value. The dictionary itself is a separate
  /// argument.
  static std::int64_t prefix_size(const ChunkHeader& header);
  /// Returns the place of the dictionary, read from these prefix_size() bytes. Size 0 if there is
  /// none.
  static ByteRange dictionary_range(const ChunkHeader& header, Bytes prefix);

  /// `vl_sizes`: uncompressed size of each block, only for chunks with VL blocks (see
  /// parse_block_starts()). Throws Error if starts, dictionary or sizes contradict the header.
  Chunk(const ChunkHeader& header, Bytes prefix, Bytes dictionary,
        const std::vector<std::int32_t>& vl_sizes = {});

  const ChunkHeader& header() const { return header_; }
  std::int32_t nbytes() const { return header_.nbytes; }
  /// Returns the number of blocks to decode. Special and memcpyed chunks have virtual blocks of a
  /// bounded size.
  std::int32_t block_count() const { return block_count_; }
  /// Returns the block that holds `content_offset` (0 <= content_offset < nbytes()).
  std::int32_t block_at(std::int64_t content_offset) const;
  ByteRange block_content(std::int32_t block) const;
  /// Returns the stored bytes that decoding this block reads, relative to the chunk's start. Size 0
  /// for special chunks.
  ByteRange block_stored(std::int32_t block) const;
  /// True if decoding this block needs the decoded contents of block 0 (delta filter).
  bool needs_reference(std::int32_t block) const;
  /// Returns an upper bound for the working memory of decoding one block, in bytes: the block
  /// itself, its stored bytes, scratch of filters and codec, and the reference block.
  std::int64_t decode_memory() const;
  /// Fills `out` with the contents from `content_offset` on. Only for special chunks.
  void fill_special(std::int64_t content_offset, MutableBytes out) const;
  Bytes dictionary() const { return dictionary_; }
  /// Returns the bytes of memory that this object uses.
  std::size_t memory() const;

 private:
  explicit Chunk(const ChunkHeader& header);

  [[noreturn]] void throw_no_block(std::int32_t block) const;
  std::int64_t largest_block() const;
  std::int64_t largest_stored(std::int64_t size) const;
  std::int64_t next_start(std::int32_t block) const;

  ChunkHeader header_;
  std::int32_t block_count_ = 0;
  std::int32_t virtual_blocksize_ = 0;  ///< 0 if the chunk has real blocks
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> sorted_starts_;  ///< only if starts_ is out of order
  std::vector<std::int64_t> vl_offsets_;  ///< prefix sums of VL block sizes, one more than blocks
  std::vector<std::uint8_t> dictionary_;
  std::vector<std::uint8_t> value_;  ///< the repeated value
};

inline ByteRange Chunk::block_content(std::int32_t block) const {
  if (block < 0 || block >= block_count_) throw_no_block(block);
  if (header_.vl_blocks) {
    const auto at = vl_offsets_.begin() + block;
    return {at[0], at[1] - at[0]};
  }
  const std::int64_t size = virtual_blocksize_ != 0 ? virtual_blocksize_ : header_.blocksize;
  const std::int64_t offset = block * size;
  return {offset, std::min(size, header_.nbytes - offset)};
}

inline bool Chunk::needs_reference(std::int32_t block) const {
  return block > 0 && header_.has_block_starts() && !header_.vl_blocks &&
         header_.has_filter(FilterId::delta);
}

/// Opens a chunk that is completely in memory. Throws Error.
Chunk open_chunk(Bytes chunk, std::int32_t full_typesize, const BlockShape& block_shape = {});

/// Returns the checked start of each block. In a chunk with VL blocks, each start is the position
/// of the block's 4-byte size, from which the caller builds `vl_sizes` before the Chunk exists.
std::vector<std::int32_t> parse_block_starts(const ChunkHeader& header, Bytes prefix);

}  // namespace bloscfs::codec
