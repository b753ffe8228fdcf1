#pragma once
// Opens a chunk in place and decodes its blocks.

#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/chunk.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline stored {

/// Where a chunk's first byte is, and the most bytes that its container leaves for it.
struct StoredAt {
  std::uint64_t position = 0;
  std::uint64_t limit = 0;
};

struct ChunkDemands {
  std::int32_t full_typesize = 0;      ///< the container's item size; 0: use the header's own
  codec::BlockShape block_shape = {};  ///< of the container's blocks, if it is an array
  std::int64_t nbytes = -1;            ///< required decoded size; -1: any
  std::int64_t cbytes = -1;            ///< required stored size; -1: any within the limit
  std::int64_t min_cbytes = 32;  ///< least stored size; Blosc1 chunks outside frames may have 16
  std::size_t first_read = 32;   ///< guessed size of header and block starts
  std::size_t max_memory = 0;    ///< bound of the opened chunk
};

/// Reads and checks only the header. Throws Error.
codec::ChunkHeader read_chunk_header(const ByteSource& source, const StoredAt& at,
                                     const ChunkDemands& demands);

/// Reads header, block starts, dictionary and sizes of VL blocks. Throws Error: malformed, or
/// too_large if the result takes more than max_memory.
codec::Chunk open_stored_chunk(const ByteSource& source, const StoredAt& at,
                               const ChunkDemands& demands);

/// Decodes one block into `out`, which must have the size of the block.
void decode_stored_block(const ByteSource& source, std::uint64_t position,
                         const codec::Chunk& chunk, std::int32_t block,
                         codec::BlockDecoder& decoder, MutableBytes out);

}  // namespace bloscfs::frame::inline stored
