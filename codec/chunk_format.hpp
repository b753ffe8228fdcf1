#pragma once
// On-disk bytes of a Blosc chunk: raw headers, flag bits, ids, limits.

#include <cstdint>

#include <boost/endian/buffers.hpp>

namespace bloscfs::codec {

/// The first 16 bytes of every chunk, Blosc1 and Blosc2.
struct RawChunkHeader {
  std::uint8_t version;
  std::uint8_t codec_version;
  std::uint8_t flags;
  std::uint8_t typesize;
  boost::endian::little_int32_buf_t nbytes;
  boost::endian::little_int32_buf_t blocksize;  ///< number of blocks in a VL-block chunk
  boost::endian::little_int32_buf_t cbytes;
};
static_assert(sizeof(RawChunkHeader) == 16 && alignof(RawChunkHeader) == 1);

inline constexpr int kFilterSlots = 6;

/// The next 16 bytes, present if kFlagShuffle and kFlagBitshuffle are both set.
struct RawExtendedHeader {
  std::uint8_t filters[kFilterSlots];
  std::uint8_t codec_id;
  std::uint8_t codec_meta;
  std::uint8_t filters_meta[kFilterSlots];
  std::uint8_t flags2;
  std::uint8_t blosc2_flags;
};
static_assert(sizeof(RawExtendedHeader) == 16 && alignof(RawExtendedHeader) == 1);

inline constexpr std::uint8_t kFlagShuffle = 0x01;
inline constexpr std::uint8_t kFlagMemcpy = 0x02;
inline constexpr std::uint8_t kFlagBitshuffle = 0x04;
inline constexpr std::uint8_t kFlagDelta = 0x08;
inline constexpr std::uint8_t kFlagDontSplit = 0x10;
inline constexpr std::uint8_t kFlagExtendedHeader = kFlagShuffle | kFlagBitshuffle;
inline constexpr int kCodecFormatShift = 5;
/// Stream format of codecs whose id is in the extended header; such ids start at 32.
inline constexpr std::uint8_t kCodecFormatById = 6;
inline constexpr std::uint8_t kFirstPluginCodec = 32;

inline constexpr std::uint8_t kFlag2VlBlocks = 0x01;

inline constexpr std::uint8_t kBlosc2Dictionary = 0x01;
inline constexpr std::uint8_t kBlosc2Lazy = 0x08;
inline constexpr int kSpecialShift = 4;
inline constexpr std::uint8_t kSpecialMask = 0x07;
inline constexpr std::uint8_t kBlosc2Instrumented = 0x80;

inline constexpr std::uint8_t kChunkVersionBlosc1 = 2;
inline constexpr std::uint8_t kChunkVersionBlosc2 = 5;
inline constexpr std::uint8_t kChunkVersionVlBlocks = 6;

inline constexpr std::int32_t kShortHeaderSize = 16;
inline constexpr std::int32_t kExtendedHeaderSize = 32;
inline constexpr std::int32_t kMaxBlocksize = 0x1FFFF000;
inline constexpr std::int32_t kMaxChunkNbytes = 0x7FFFFFFF - 32;
inline constexpr std::int32_t kMaxDictionarySize = 32768;

/// Codec ids, as stored in extended headers and in frame headers.
enum class CodecId : std::uint8_t {
  blosclz = 0,
  lz4 = 1,
  lz4hc = 2,
  snappy = 3,  ///< only Blosc1, where its stream format number is 2
  zlib = 4,
  zstd = 5,
  ndlz = 32,
  zfp_accuracy = 33,
  zfp_precision = 34,
  zfp_rate = 35,
  openhtj2k = 36,
  grok = 37,
  openzl = 38,
  j2k = 39,
  htj2k = 40,
};

/// Filter ids, as stored in the slots of the pipeline.
enum class FilterId : std::uint8_t {
  none = 0,
  shuffle = 1,
  bitshuffle = 2,
  delta = 3,
  trunc_prec = 4,
  ndcell = 32,
  ndmean = 33,
  bytedelta_old = 34,
  bytedelta = 35,
  int_trunc = 36,
};

enum class SpecialValue : std::uint8_t { none = 0, zero = 1, nan = 2, value = 3, uninit = 4 };

struct FilterStep {
  FilterId id = FilterId::none;
  std::uint8_t meta = 0;
  bool operator==(const FilterStep&) const = default;
};

}  // namespace bloscfs::codec
