#pragma once
// A checked chunk header (codec/formats/chunk.md, "Header").

#include <array>
#include <cstdint>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

struct ChunkHeader {
  std::uint8_t version = 0;
  std::int32_t header_size = 0;    ///< 16 or 32 bytes
  std::int32_t typesize = 1;       ///< from the header, 1..255; used by filters and for splitting
  std::int32_t full_typesize = 1;  ///< the container's item size, which may exceed 255
  std::int32_t nbytes = 0;         ///< decoded size
  std::int32_t blocksize = 0;      ///< bytes, <= nbytes unless nbytes is 0; 0 with VL blocks
  std::int32_t block_count = 0;
  std::int32_t cbytes = 0;  ///< stored size, header included
  CodecId codec = CodecId::blosclz;
  std::uint8_t codec_meta = 0;
  std::array<FilterStep, kFilterSlots> filters{};
  BlockShape block_shape;  ///< from the container
  SpecialValue special = SpecialValue::none;
  std::int32_t value_size = 0;  ///< bytes of the repeated value (SpecialValue::value only)
  bool memcpyed = false;
  bool dont_split = false;
  bool has_dictionary = false;
  bool vl_blocks = false;
  bool instrumented = false;

  bool is_special() const { return special != SpecialValue::none; }
  /// True if the stored bytes have separate blocks: header | starts | blocks.
  bool has_block_starts() const { return !memcpyed && !is_special() && nbytes > 0; }
  bool has_filter(FilterId id) const;
  bool is_filtered() const { return filters != std::array<FilterStep, kFilterSlots>{}; }
  /// Returns how many streams store a block of `block_size` decoded bytes (codec/formats/chunk.md,
  /// "Blocks and streams").
  std::int32_t stream_count(std::int64_t block_size) const;
};

inline bool ChunkHeader::has_filter(FilterId id) const {
  for (const FilterStep& step : filters) {
    if (step.id == id) return true;
  }
  return false;
}

inline std::int32_t ChunkHeader::stream_count(std::int64_t block_size) const {
  if (vl_blocks || dont_split || block_size != blocksize) return 1;
  // Blosc1 has only a flag against splitting. If it is clear, this rule decides.
  if (version <= kChunkVersionBlosc1 && (typesize > 16 || blocksize / typesize < 128)) return 1;
  return typesize;
}

/// The most bytes that parse_chunk_header() reads.
inline constexpr std::size_t kChunkHeaderBytes = 32;

/// Parses the start of a chunk.
/// - `prefix`: the first 32 bytes, or all of a shorter chunk.
/// - `available`: how many stored bytes the container has for the chunk.
/// - `full_typesize`: the container's item size; 0: the header's own.
/// - `block_shape`: the shape of an array's blocks. It is not compared with the block size.
/// Throws Error: malformed, or unsupported for future versions.
ChunkHeader parse_chunk_header(Bytes prefix, std::uint64_t available, std::int32_t full_typesize,
                               const BlockShape& block_shape = {});

/// Returns the header as stored: the first `header_size` bytes are used. Not for chunks with VL
/// blocks.
std::array<std::uint8_t, kChunkHeaderBytes> serialize_chunk_header(const ChunkHeader& header);

}  // namespace bloscfs::codec
