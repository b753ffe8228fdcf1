#pragma once
// How chunks are to be encoded.

#include <array>
#include <cstdint>

#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// Whether blocks are stored as one stream per byte of an item; numbers as in C-Blosc2's interface,
/// frames store one less.
enum class SplitMode : std::uint8_t {
  always = 1,
  never = 2,
  automatic = 3,           ///< by codec/formats/chunk.md, "Blocks and streams"
  forward_compatible = 4,  ///< the same rule under its other name
};

struct EncodeSettings {
  CodecId codec = CodecId::blosclz;
  std::uint8_t codec_meta = 0;  ///< parameter of codecs that have one
  int clevel = 5;               ///< 0 (stored as it is) to 9
  std::array<FilterStep, kFilterSlots> filters{};
  std::int32_t typesize = 1;   ///< bytes of an item, may exceed 255
  std::int32_t blocksize = 0;  ///< bytes; 0 chooses by codec and level
  BlockShape block_shape;      ///< of an array's blocks, which have blocksize bytes
  SplitMode split = SplitMode::forward_compatible;
  bool use_dictionary = false;  ///< of codecs that take one; C-Blosc2 2.17 reads it with Zstandard
  bool blosc1_header = false;   ///< chunks that Blosc1 reads too
  bool operator==(const EncodeSettings&) const = default;
};

/// Throws Error (unwritable, with the reason in words) unless chunks can be written so: a codec
/// that we only read, a level, size or split mode out of range, delta behind another filter,
/// a filter that doesn't go with the item size, a codec or filter that doesn't go with the shape of
/// blocks, more than Blosc1 knows.
void check_settings(const EncodeSettings& settings);

/// The header of a chunk of `nbytes`, all but its stored size. Filters whose last bytes C-Blosc2
/// loses where nbytes or blocks are no whole items (codec/formats/filters.md, "Delta") are left
/// out, and so are those that go by a shape which the chunk's blocks have not.
ChunkHeader plan_chunk(const EncodeSettings& settings, std::int32_t nbytes);

}  // namespace bloscfs::codec
