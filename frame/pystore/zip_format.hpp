#pragma once
// The bytes of ZIP files on disk, as far as stores use them (frame/formats/stores.md, "ZIP").

#include <cstdint>

#include <boost/endian/buffers.hpp>

namespace bloscfs::frame::inline pystore {

using boost::endian::little_uint16_buf_t;
using boost::endian::little_uint32_buf_t;
using boost::endian::little_uint64_buf_t;

inline constexpr std::uint32_t kZipLocalMagic = 0x04034b50;
inline constexpr std::uint32_t kZipEntryMagic = 0x02014b50;
inline constexpr std::uint32_t kZipEndMagic = 0x06054b50;
inline constexpr std::uint32_t kZip64EndMagic = 0x06064b50;
inline constexpr std::uint32_t kZip64LocatorMagic = 0x07064b50;

/// Means that the real number is in the ZIP64 extra field.
inline constexpr std::uint32_t kZip32Bits = 0xffffffff;
inline constexpr std::uint16_t kZip16Bits = 0xffff;
inline constexpr std::uint16_t kZip64ExtraId = 1;

inline constexpr std::uint16_t kZipStored = 0;
inline constexpr std::uint16_t kZipEncrypted = 0x0001;
/// CRC-32 and sizes are behind the data instead of in the local header.
inline constexpr std::uint16_t kZipSizesBehind = 0x0008;

/// Precedes a member's data. Name and extra field follow it.
struct RawZipLocal {
  little_uint32_buf_t magic;
  little_uint16_buf_t version_needed;
  little_uint16_buf_t flags;
  little_uint16_buf_t method;
  little_uint16_buf_t time, date;
  little_uint32_buf_t crc;
  little_uint32_buf_t stored_size;
  little_uint32_buf_t full_size;
  little_uint16_buf_t name_size;
  little_uint16_buf_t extra_size;
};
static_assert(sizeof(RawZipLocal) == 30 && alignof(RawZipLocal) == 1);

/// An entry of the central directory. Name, extra field and comment follow it.
struct RawZipEntry {
  little_uint32_buf_t magic;
  little_uint16_buf_t version_made, version_needed;
  little_uint16_buf_t flags;
  little_uint16_buf_t method;
  little_uint16_buf_t time, date;
  little_uint32_buf_t crc;
  little_uint32_buf_t stored_size;
  little_uint32_buf_t full_size;
  little_uint16_buf_t name_size;
  little_uint16_buf_t extra_size;
  little_uint16_buf_t comment_size;
  little_uint16_buf_t disk;
  little_uint16_buf_t internal_attributes;
  little_uint32_buf_t external_attributes;
  little_uint32_buf_t local_at;
};
static_assert(sizeof(RawZipEntry) == 46 && alignof(RawZipEntry) == 1);

/// Follows the central directory. A comment follows it.
struct RawZipEnd {
  little_uint32_buf_t magic;
  little_uint16_buf_t disk, directory_disk;
  little_uint16_buf_t entries_here, entries;
  little_uint32_buf_t directory_size;
  little_uint32_buf_t directory_at;
  little_uint16_buf_t comment_size;
};
static_assert(sizeof(RawZipEnd) == 22 && alignof(RawZipEnd) == 1);

/// Comes right before RawZipEnd if the file has a RawZip64End.
struct RawZip64Locator {
  little_uint32_buf_t magic;
  little_uint32_buf_t end_disk;
  little_uint64_buf_t end_at;
  little_uint32_buf_t disks;
};
static_assert(sizeof(RawZip64Locator) == 20 && alignof(RawZip64Locator) == 1);

struct RawZip64End {
  little_uint32_buf_t magic;
  little_uint64_buf_t size;
  little_uint16_buf_t version_made, version_needed;
  little_uint32_buf_t disk, directory_disk;
  little_uint64_buf_t entries_here, entries;
  little_uint64_buf_t directory_size;
  little_uint64_buf_t directory_at;
};
static_assert(sizeof(RawZip64End) == 56 && alignof(RawZip64End) == 1);

}  // namespace bloscfs::frame::inline pystore
