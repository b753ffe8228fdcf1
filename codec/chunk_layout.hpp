#pragma once
// Puts the parts of a chunk where they belong: header, block starts, dictionary, blocks in order
// (codec/formats/chunk.md, "Layout").

#include <cstdint>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class ChunkLayout {
 public:
  /// Begins a chunk in `out`, which is borrowed and bounds it.
  ChunkLayout(const ChunkHeader& header, Bytes dictionary, MutableBytes out);

  /// Where the next block's stored bytes go; empty when nothing more fits.
  MutableBytes room() const { return out_.subspan(written_); }
  /// Ends the block that `size` bytes were put into room() for.
  void end_block(std::size_t size);
  /// True if the blocks are runs of zeros and nothing else, and make whole items (find_special).
  bool is_zero() const;
  /// Writes the header; returns the chunk's stored size.
  std::size_t finish();

 private:
  ChunkHeader header_;
  MutableBytes out_;
  std::size_t first_ = 0;  ///< offset of the first block
  std::size_t written_ = 0;
  std::size_t blocks_ = 0;
};

/// Writes the header alone, with `stored_size` as the chunk's. Returns its size.
std::size_t put_chunk_header(ChunkHeader header, std::size_t stored_size, MutableBytes out);

}  // namespace bloscfs::codec
