#pragma once
// The bytes of Bloscpack files on disk (frame/formats/bloscpack.md).

#include <cstdint>

#include <boost/endian/buffers.hpp>

namespace bloscfs::frame::inline bloscpack {

inline constexpr std::uint8_t kBloscpackMagic[4] = {'b', 'l', 'p', 'k'};

/// Header of format versions 2 and 3. In sizes and counts -1 means unknown.
struct RawBloscpackHeader {
  std::uint8_t magic[4];
  std::uint8_t version;
  std::uint8_t options;
  std::uint8_t checksum;  ///< DigestKind of the chunks
  std::uint8_t typesize;
  boost::endian::little_int32_buf_t chunk_size;
  boost::endian::little_int32_buf_t last_chunk;
  boost::endian::little_int64_buf_t nchunks;
  boost::endian::little_int64_buf_t max_app_chunks;  ///< reserved in version 2
};
static_assert(sizeof(RawBloscpackHeader) == 32 && alignof(RawBloscpackHeader) == 1);

/// Header of format version 1.
struct RawBloscpackHeaderV1 {
  std::uint8_t magic[4];
  std::uint8_t version;
  std::uint8_t reserved[3];
  boost::endian::little_int64_buf_t nchunks;
};
static_assert(sizeof(RawBloscpackHeaderV1) == 16 && alignof(RawBloscpackHeaderV1) == 1);

inline constexpr std::uint8_t kBloscpackOptionOffsets = 0x01;
inline constexpr std::uint8_t kBloscpackOptionMetadata = 0x02;

/// Starts the metadata section. Data, preallocated space and digest follow.
struct RawBloscpackMetadata {
  char magic_format[8];
  std::uint8_t options;
  std::uint8_t checksum;  ///< DigestKind of the data
  std::uint8_t codec;     ///< 0 none, 1 zlib
  std::uint8_t level;
  boost::endian::little_uint32_buf_t size;       ///< of the JSON text
  boost::endian::little_uint32_buf_t max_size;   ///< bytes allocated for the stored text
  boost::endian::little_uint32_buf_t comp_size;  ///< bytes of the stored text
  std::uint8_t user_codec[8];
};
static_assert(sizeof(RawBloscpackMetadata) == 32 && alignof(RawBloscpackMetadata) == 1);

inline constexpr std::uint8_t kBloscpackMetadataPlain = 0;
inline constexpr std::uint8_t kBloscpackMetadataZlib = 1;

/// The header that every chunk of a file has.
inline constexpr std::uint64_t kBloscpackChunkHeader = 16;

}  // namespace bloscfs::frame::inline bloscpack
