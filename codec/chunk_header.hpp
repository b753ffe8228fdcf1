#pragma once
// A chunk's header as a value that cannot be wrong (codec/formats/chunk.md, "Header").

#include <array>
#include <cstdint>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

struct ChunkHeader {
  std::uint8_t version = 0;
  std::int32_t header_size = 0;    ///< 16 or 32 bytes
  std::int32_t typesize = 1;       ///< header byte, 1..255; filters and splitting use this one
  std::int32_t full_typesize = 1;  ///< the container's item size, which may exceed 255
  std::int32_t nbytes = 0;         ///< decoded size
  std::int32_t blocksize = 0;      ///< bytes, <= nbytes unless nbytes is 0; 0 in VL-block chunks
  std::int32_t block_count = 0;
  std::int32_t cbytes = 0;  ///< stored size, header included
  CodecId codec = CodecId::blosclz;
  std::uint8_t codec_meta = 0;
  std::array<FilterStep, kFilterSlots> filters{};
  BlockShape block_shape;  ///< as the container has it
  SpecialValue special = SpecialValue::none;
  std::int32_t value_size = 0;  ///< bytes of the repeated value (SpecialValue::value only)
  bool memcpyed = false;
  bool dont_split = false;
  bool has_dictionary = false;
  bool vl_blocks = false;
  bool instrumented = false;

  bool is_special() const { return special != SpecialValue::none; }
  /// True if blocks stand for themselves in the stored bytes: header | starts | blocks.
  bool has_block_starts() const { return !memcpyed && !is_special() && nbytes > 0; }
  bool has_filter(FilterId id) const;
  bool is_filtered() const { return filters != std::array<FilterStep, kFilterSlots>{}; }
  /// Streams that a block of `block_size` decoded bytes is stored in (codec/formats/chunk.md,
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
  // Blosc1 had no flag for it but a rule.
  if (version <= kChunkVersionBlosc1 && (typesize > 16 || blocksize / typesize < 128)) return 1;
  return typesize;
}

/// Bytes that parse_chunk_header looks at, at most.
inline constexpr std::size_t kChunkHeaderBytes = 32;

/// Parses the start of a chunk. `prefix` holds its first bytes (32, or all of a shorter chunk),
/// `available` is the number of stored bytes that the container leaves for the chunk,
/// `full_typesize` the container's item size (0: the header's own), `block_shape` that of its
/// blocks where it is an array: nobody has compared it with the block size.
/// Throws Error: malformed, or unsupported for future versions.
ChunkHeader parse_chunk_header(Bytes prefix, std::uint64_t available, std::int32_t full_typesize,
                               const BlockShape& block_shape = {});

/// The header's stored bytes, the first `header_size` of them. Not for VL-block chunks.
std::array<std::uint8_t, kChunkHeaderBytes> serialize_chunk_header(const ChunkHeader& header);

}  // namespace bloscfs::codec
