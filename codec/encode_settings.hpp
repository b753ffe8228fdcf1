#pragma once
// Settings for encoding chunks.

#include <array>
#include <cstdint>

#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// Whether a block is stored as one stream for each byte of an item. The numbers are those of
/// C-Blosc2's interface; frames store one less.
enum class SplitMode : std::uint8_t {
  always = 1,
  never = 2,
  automatic = 3,           ///< by codec/formats/chunk.md, "Blocks and streams"
  forward_compatible = 4,  ///< the same as automatic, by its other name
};

struct EncodeSettings {
  CodecId codec = CodecId::blosclz;
  std::uint8_t codec_meta = 0;  ///< for codecs that have a parameter
  int clevel = 5;               ///< 0 (uncompressed) to 9
  std::array<FilterStep, kFilterSlots> filters{};
  std::int32_t typesize = 1;   ///< bytes of an item, may exceed 255
  std::int32_t blocksize = 0;  ///< bytes; 0: depends on codec and level
  BlockShape block_shape;      ///< of an array; its blocks have blocksize bytes
  SplitMode split = SplitMode::forward_compatible;
  bool use_dictionary = false;  ///< for codecs that take one; C-Blosc2 2.17: only Zstandard
  bool blosc1_header = false;   ///< chunks that Blosc1 can read too
  bool operator==(const EncodeSettings&) const = default;
};

/// Throws Error (unwritable, with the reason as text) if no chunk can be written with these
/// settings:
/// - the codec can only be read
/// - the level, a size or the split mode is out of range
/// - delta comes after another filter
/// - a filter does not fit the item size
/// - a codec or filter does not fit the shape of blocks
/// - Blosc1 does not support a setting, for blosc1_header
void check_settings(const EncodeSettings& settings);

/// Returns the header of a chunk of `nbytes`, without its stored size. Leaves out filters that do
/// not fit the chunk:
/// - filters with which C-Blosc2 loses the last bytes, if nbytes or blocks are not whole items
///   (codec/formats/filters.md, "Delta")
/// - filters that need a shape that the chunk's blocks do not have
ChunkHeader plan_chunk(const EncodeSettings& settings, std::int32_t nbytes);

}  // namespace bloscfs::codec
