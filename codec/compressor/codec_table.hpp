#pragma once
// What is known of each codec: the one place where its name, its number in chunk headers, what it
// gains from and its adapter stand. Everybody else asks the row.

#include <cstdint>
#include <memory>
#include <span>

#include "codec/chunk_format.hpp"
#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

/// Levels of compression, 0 to 9, and what is below and above all of them.
inline constexpr int kNoLevel = -1;
inline constexpr int kMaxLevel = 9;
inline constexpr int kBeyondLevels = kMaxLevel + 1;

struct CodecRow {
  CodecId id;
  const char* name;  ///< as attributes, options and messages spell it
  /// Number in the flags of chunk headers (codec/formats/codecs.md, "Formats"). kCodecFormatById:
  /// the id, which is then 32 or more, stands in the extended header. Of several codecs with one
  /// format the first is meant unless the extended header has another one's id.
  std::uint8_t stream_format = kCodecFormatById;
  bool needs_short_header = false;  ///< Blosc1's alone
  bool takes_dictionary = false;    ///< as a prefix of each stream's contents
  bool is_fast = false;             ///< gets the smaller blocks where no size is asked for
  /// The highest level at which blocks of shuffled items are split into streams: each byte of an
  /// item by itself. kNoLevel: a codec that finds more in the whole block.
  int splits_up_to_level = kNoLevel;
  /// The lowest level at which noise takes so long that a look at it first is worth it.
  int slow_on_noise_from_level = kBeyondLevels;
  std::unique_ptr<Decompressor> (*make_decompressor)() = nullptr;  ///< null: known by name only
  std::unique_ptr<Compressor> (*make_compressor)(int clevel) = nullptr;  ///< null: not written
};

/// All rows, by id.
std::span<const CodecRow> codec_rows();

/// The codec's row, or null.
const CodecRow* find_codec(CodecId id);

/// A decompressor for `id`, or null if that is a codec that we don't have.
std::unique_ptr<Decompressor> make_decompressor(CodecId id);

/// True if `id` is a codec that we write.
bool can_compress(CodecId id);

/// A compressor for `id` at `clevel` 1..9, or null unless can_compress(id).
std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel);

}  // namespace bloscfs::codec
