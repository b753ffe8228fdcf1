#pragma once
// What is known of each codec: the one place where its name, its number in chunk headers, what it
// gains from and its adapter stand. Everybody else asks the row.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codec/chunk_header.hpp"
#include "codec/compressor/compressor.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// Levels of compression, 0 to 9, and what is below and above all of them.
inline constexpr int kNoLevel = -1;
inline constexpr int kMaxLevel = 9;
inline constexpr int kBeyondLevels = kMaxLevel + 1;

/// No parameter is meant where none is given.
inline constexpr int kNoParameter = -1;

struct CodecRow {
  CodecId id;
  const char* name;            ///< as attributes, options and messages spell it
  const char* parameter = "";  ///< as texts about options append it to the name; empty: it has none
  int usual_parameter = kNoParameter;  ///< what the name alone means
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
  Loss loss = Loss::none;
  /// Goes by the shape of an array's blocks, so that nothing else can be written with it.
  bool goes_by_shape = false;
  bool takes_single_bytes = false;  ///< blocks of larger items are split, whatever the level
  /// What is wrong with writing streams of `size` bytes, in words. Null, or empty: nothing.
  std::string (*problem)(const CodecUse& use, std::int64_t size) = nullptr;
  /// Bytes that decoding to `size` bytes takes beside these and the stream. Null: next to none.
  std::int64_t (*decode_memory)(const CodecUse& use, std::int64_t size) = nullptr;
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

/// What streams of chunks with that header go by.
CodecUse codec_use(const ChunkHeader& header, Bytes dictionary = {});

/// What is wrong with writing chunks with the codec and the block size of `header`, in words; empty
/// if nothing.
std::string codec_problem(const ChunkHeader& header);

/// A compressor for `id` at `clevel` 1..9, or null unless can_compress(id).
std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel);

}  // namespace bloscfs::codec
