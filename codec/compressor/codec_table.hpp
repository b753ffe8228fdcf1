#pragma once
// The table of codecs, the only place for the name of each codec, its number in chunk headers, its
// properties and its adapter. All other code asks the codec's row.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codec/chunk_header.hpp"
#include "codec/compressor/compressor.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// Compression levels are 0 to 9. These values are below and above all of them.
inline constexpr int kNoLevel = -1;
inline constexpr int kMaxLevel = 9;
inline constexpr int kBeyondLevels = kMaxLevel + 1;

/// The codec has no default parameter.
inline constexpr int kNoParameter = -1;

struct CodecRow {
  CodecId id;
  const char* name;                    ///< as in attributes, options and messages
  const char* parameter = "";          ///< appended to the name in texts about options; empty: none
  int usual_parameter = kNoParameter;  ///< the parameter if only the name is given
  /// Number in the flags of chunk headers (codec/formats/codecs.md, "Formats"). kCodecFormatById:
  /// the id, which is then 32 or more, is in the extended header. If several codecs have the same
  /// format, it means the first one, unless the extended header has the id of another.
  std::uint8_t stream_format = kCodecFormatById;
  bool needs_short_header = false;  ///< only in chunks of Blosc1
  bool takes_dictionary = false;    ///< as a prefix of each stream's contents
  bool is_fast = false;             ///< gets smaller blocks if no size is given
  /// The highest level at which blocks of shuffled items are split into one stream for each byte of
  /// an item. kNoLevel for a codec that compresses whole blocks better.
  int splits_up_to_level = kNoLevel;
  /// The lowest level at which noise takes so long that a check for noise pays off.
  int slow_on_noise_from_level = kBeyondLevels;
  Loss loss = Loss::none;
  /// The codec needs the shape of an array's blocks, so it can only write arrays.
  bool depends_on_shape = false;
  bool takes_single_bytes = false;  ///< callers must split blocks of larger items, at each level
  /// Returns why streams of `size` bytes cannot be written, as text; empty if they can. Null: never
  /// a problem.
  std::string (*problem)(const CodecUse& use, std::int64_t size) = nullptr;
  /// Returns the bytes that decoding to `size` bytes needs in addition to these and the stream.
  /// Null: almost none.
  std::int64_t (*decode_memory)(const CodecUse& use, std::int64_t size) = nullptr;
  std::unique_ptr<Decompressor> (*make_decompressor)() = nullptr;  ///< null: only the name is known
  std::unique_ptr<Compressor> (*make_compressor)(int clevel) = nullptr;  ///< null: not written
};

/// Returns all rows, by id.
std::span<const CodecRow> codec_rows();

/// Returns the codec's row, or null.
const CodecRow* find_codec(CodecId id);

/// Makes a decompressor. Returns null if the codec is not supported.
std::unique_ptr<Decompressor> make_decompressor(CodecId id);

/// True if the codec can be written.
bool can_compress(CodecId id);

/// Returns the context for streams of chunks with that header.
CodecUse codec_use(const ChunkHeader& header, Bytes dictionary = {});

/// Returns why chunks with the codec and block size of `header` cannot be written, as text; empty
/// if they can.
std::string codec_problem(const ChunkHeader& header);

/// Makes a compressor for `clevel` 1..9. Returns null unless can_compress(id).
std::unique_ptr<Compressor> make_compressor(CodecId id, int clevel);

}  // namespace bloscfs::codec
