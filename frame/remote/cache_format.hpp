#pragma once
// A file of the cache on disk: this header, the bytes, and the XXH3-64 of both. All numbers are
// little-endian.

#include <array>
#include <cstddef>
#include <cstdint>

#include <boost/endian/buffers.hpp>

namespace bloscfs::frame::inline remote {

inline constexpr std::array<char, 8> kPieceMagic = {'b', '2', 'c', 'a', 'c', 'h', 'e', '\n'};
inline constexpr std::uint32_t kPieceVersion = 1;
/// Maximum size of a piece in bytes.
inline constexpr std::size_t kCachePieceSize = std::size_t{64} << 10;

struct RawPieceHeader {
  std::array<char, 8> magic;
  boost::endian::little_uint32_buf_t version;
  boost::endian::little_uint32_buf_t length;  ///< bytes between this header and the checksum
  std::array<std::uint8_t, 16> name;          ///< the file's name in binary
};
static_assert(sizeof(RawPieceHeader) == 32 && alignof(RawPieceHeader) == 1);

using RawPieceChecksum = boost::endian::little_uint64_buf_t;
static_assert(sizeof(RawPieceChecksum) == 8);

}  // namespace bloscfs::frame::inline remote
