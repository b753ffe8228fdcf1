#pragma once
// Writes the parts of a chunk in their order: header, block starts, dictionary, blocks
// (codec/formats/chunk.md, "Layout").

#include <cstdint>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class ChunkLayout {
 public:
  /// Starts a chunk in `out`. The chunk is at most as large as `out`, which must outlive this
  /// object.
  ChunkLayout(const ChunkHeader& header, Bytes dictionary, MutableBytes out);

  /// Returns the place for the next block's stored bytes; empty if nothing more fits.
  MutableBytes room() const { return out_.subspan(written_); }
  /// Ends the block whose `size` stored bytes were written to room().
  void end_block(std::size_t size);
  /// True if all blocks are runs of zeros, and the contents are whole items; see find_special().
  bool is_zero() const;
  /// Writes the header. Returns the chunk's stored size.
  std::size_t finish();

 private:
  ChunkHeader header_;
  MutableBytes out_;
  std::size_t first_ = 0;  ///< offset of the first block
  std::size_t written_ = 0;
  std::size_t blocks_ = 0;
};

/// Writes only the header, with `stored_size` as the chunk's size. Returns the size of the header.
std::size_t put_chunk_header(ChunkHeader header, std::size_t stored_size, MutableBytes out);

}  // namespace bloscfs::codec
