#pragma once
// Examines what may be a chunk, and finds out which of its blocks decode.

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/chunk.hpp"
#include "frame/repair/effort.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline repair {

enum class Soundness : std::uint8_t {
  none,         ///< no chunk
  damaged,      ///< some blocks don't decode, or the chunk is cut off
  undecodable,  ///< needs a missing codec or filter, or too much memory
  whole,        ///< all blocks decode
};

/// An opened chunk. Some of its block starts may be wrong.
struct TolerantChunk {
  codec::Chunk chunk;
  std::vector<std::int32_t> bad_start_blocks;  ///< blocks whose start is wrong, in order
};

struct ChunkFacts {
  Soundness soundness = Soundness::none;
  codec::SpecialValue special = codec::SpecialValue::none;
  bool vl_blocks = false;
  std::int32_t typesize = 0, blocksize = 0;
  std::int32_t nbytes = 0, cbytes = 0;
  bool is_cut = false;          ///< the file ends before the chunk does
  std::vector<ByteRange> lost;  ///< lost ranges of the contents, in order, if it is damaged
};

/// For use by one thread.
class ChunkProbe {
 public:
  /// `full_typesize` and `block_shape` are those of the container, as far as they are known.
  ChunkProbe(Effort& effort, std::int32_t full_typesize, const codec::BlockShape& block_shape)
      : effort_(effort), full_typesize_(full_typesize), block_shape_(block_shape) {}

  /// Examines what starts at `position`, in a place of at most `limit` bytes. With `only_whole`,
  /// stops at the first block that does not decode. Throws std::system_error of the source.
  ChunkFacts look(const ByteSource& source, std::uint64_t position, std::uint64_t limit,
                  bool only_whole);

  /// Opens a chunk; nullopt if that is impossible.
  std::optional<TolerantChunk> open(const ByteSource& source, std::uint64_t position,
                                    std::uint64_t limit);
  /// Decodes the contents of a block into `out`. Returns false if the block does not decode.
  bool decode(const ByteSource& source, std::uint64_t position, const codec::Chunk& chunk,
              std::int32_t block, std::vector<std::uint8_t>& out);

 private:
  void decode_all(const ByteSource& source, std::uint64_t position, const TolerantChunk& opened,
                  bool only_whole, ChunkFacts& facts);

  Effort& effort_;
  std::int32_t full_typesize_;
  codec::BlockShape block_shape_;
  codec::BlockDecoder decoder_;
  std::vector<std::uint8_t> stored_, contents_, reference_;
  bool unsupported_ = false;  ///< the last failure: no decoder, or too large
};

}  // namespace bloscfs::frame::inline repair
