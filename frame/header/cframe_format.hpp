#pragma once
// The bytes of a Blosc2 frame on disk (frame/formats/cframe.md). The header is msgpack, but its
// fields are at fixed positions. All integers are big-endian.

#include <cstddef>
#include <cstdint>

#include <boost/endian/buffers.hpp>

namespace bloscfs::frame::inline header {

/// The common start of both header layouts.
struct RawFrameStart {
  std::uint8_t array_marker;  ///< kModernArray or kEarlyArray
  std::uint8_t magic_marker;
  std::uint8_t magic[8];
  std::uint8_t header_len_marker;
  boost::endian::big_int32_buf_t header_len;
  std::uint8_t frame_len_marker;
  boost::endian::big_uint64_buf_t frame_len;
  std::uint8_t flags_marker;
  std::uint8_t general_flags;
  std::uint8_t frame_type;
  std::uint8_t codec_flags;  ///< codec in the low nibble, level in the high one
  std::uint8_t split_mode;   ///< the split mode minus 1, in bits 0 and 1
  std::uint8_t nbytes_marker;
  boost::endian::big_int64_buf_t nbytes;
  std::uint8_t cbytes_marker;
  boost::endian::big_int64_buf_t cbytes;
  std::uint8_t typesize_marker;
  boost::endian::big_int32_buf_t typesize;
};
static_assert(sizeof(RawFrameStart) == 0x34 && alignof(RawFrameStart) == 1);

struct RawFrameHeader {
  RawFrameStart start;
  std::uint8_t blocksize_marker;
  boost::endian::big_int32_buf_t blocksize;
  std::uint8_t chunksize_marker;
  boost::endian::big_int32_buf_t chunksize;
  std::uint8_t compression_threads_marker;
  boost::endian::big_int16_buf_t compression_threads;
  std::uint8_t decompression_threads_marker;
  boost::endian::big_int16_buf_t decompression_threads;
  std::uint8_t has_vlmetalayers;
  std::uint8_t pipeline_marker;
  std::uint8_t filter_count;
  std::uint8_t filters[6];
  std::uint8_t codec_id;
  std::uint8_t codec_meta;
  std::uint8_t filters_meta[6];
  std::uint8_t use_dict;
  std::uint8_t reserved;
};
static_assert(sizeof(RawFrameHeader) == 0x57 && alignof(RawFrameHeader) == 1);

/// The layout of C-Blosc2 before 2.0. It has no block size, and a pipeline of eight filters.
struct RawEarlyHeader {
  RawFrameStart start;
  std::uint8_t chunksize_marker;
  boost::endian::big_int32_buf_t chunksize;
  std::uint8_t compression_threads_marker;
  boost::endian::big_int16_buf_t compression_threads;
  std::uint8_t decompression_threads_marker;
  boost::endian::big_int16_buf_t decompression_threads;
  std::uint8_t has_usermeta;
  std::uint8_t pipeline_marker;
  std::uint8_t filter_count;
  std::uint8_t filters[8];
  std::uint8_t filters_meta[8];
};
static_assert(sizeof(RawEarlyHeader) == 0x52 && alignof(RawEarlyHeader) == 1);

/// The end of every trailer.
struct RawTrailerEnd {
  std::uint8_t length_marker;
  boost::endian::big_uint32_buf_t trailer_len;
  std::uint8_t fingerprint_marker;
  std::uint8_t fingerprint_type;
  std::uint8_t fingerprint[16];
};
static_assert(sizeof(RawTrailerEnd) == 23 && alignof(RawTrailerEnd) == 1);

inline constexpr std::uint8_t kModernArray = 0x9e;
inline constexpr std::uint8_t kEarlyArray = 0x9d;
inline constexpr std::uint8_t kFrameMagic[9] = {0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0};

inline constexpr std::uint8_t kMsgpackArray3 = 0x93;
inline constexpr std::uint8_t kMsgpackArray4 = 0x94;
inline constexpr std::uint8_t kMsgpackFixstr = 0xa0;  ///< plus the length, up to 31
inline constexpr std::uint8_t kMsgpackFixstrMask = 0xe0;
inline constexpr std::uint8_t kMsgpackFixstr4 = 0xa4;
inline constexpr std::uint8_t kMsgpackFalse = 0xc2;
inline constexpr std::uint8_t kMsgpackTrue = 0xc3;
inline constexpr std::uint8_t kMsgpackBin32 = 0xc6;
inline constexpr std::uint8_t kMsgpackUint16 = 0xcd;
inline constexpr std::uint8_t kMsgpackUint32 = 0xce;
inline constexpr std::uint8_t kMsgpackUint64 = 0xcf;
inline constexpr std::uint8_t kMsgpackInt16 = 0xd1;
inline constexpr std::uint8_t kMsgpackInt32 = 0xd2;
inline constexpr std::uint8_t kMsgpackInt64 = 0xd3;
inline constexpr std::uint8_t kMsgpackFixext16 = 0xd8;
inline constexpr std::uint8_t kMsgpackStr32 = 0xdb;
inline constexpr std::uint8_t kMsgpackArray16 = 0xdc;
inline constexpr std::uint8_t kMsgpackMap16 = 0xde;

inline constexpr std::uint8_t kFrameVersionMask = 0x0f;
inline constexpr int kOffsetWidthShift = 4;
inline constexpr std::uint8_t kOffsetWidthMask = 0x03;
inline constexpr std::uint8_t kFlagVariableChunks = 0x40;
inline constexpr std::uint8_t kFlagVlBlocks = 0x80;
inline constexpr int kMaxFrameVersion = 3;
inline constexpr std::uint8_t kCodecInExtendedField =
    6;  ///< low nibble: see RawFrameHeader::codec_id

inline constexpr std::int64_t kMinHeaderLen = 97;  ///< with an empty metalayer section
inline constexpr std::int64_t kMinFrameLen = 112;
inline constexpr std::int64_t kMinTrailerLen = 25;
inline constexpr std::int64_t kEmptyTrailerLen = 35;  ///< without vlmetalayers
inline constexpr std::int64_t kMaxChunks = 268435455;
inline constexpr std::int64_t kMinStoredChunk = 32;
inline constexpr std::size_t kMaxMetalayerName = 31;
inline constexpr int kMaxMetalayers = 16;
inline constexpr int kMaxVlmetalayers = 8192;

inline constexpr std::uint8_t kSpecialEntryZero = 0x81;  ///< top byte of an index entry
inline constexpr std::uint8_t kSpecialEntryNan = 0x82;
inline constexpr std::uint8_t kSpecialEntryUninit = 0x84;

inline constexpr char kChecksumLayerName[] = "bloscfs.xxh3";

}  // namespace bloscfs::frame::inline header
