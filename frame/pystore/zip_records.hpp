#pragma once
// Parses the records of a ZIP file: the place of its central directory, its entries, local headers.

#include <cstdint>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/window_reader.hpp"

namespace bloscfs::frame::inline pystore {

struct ZipMember {
  std::string name;             ///< relative to the root; parts are separated by slashes
  std::uint64_t size = 0;       ///< stored bytes
  std::uint64_t full_size = 0;  ///< inflated bytes
  std::uint32_t crc = 0;        ///< CRC-32 of the inflated bytes
  std::uint16_t method = 0;
  bool is_stored = true;       ///< neither compressed nor encrypted
  std::uint32_t number = 0;    ///< number of its entry in the directory
  std::uint64_t local_at = 0;  ///< file position of its local header
};

/// Where the central directory is in the file.
struct ZipDirectoryPlace {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;  ///< according to the end record
};

/// Looks for the end record in the last 64 KiB. Throws Error(malformed) if there is none,
/// std::system_error.
ZipDirectoryPlace find_zip_directory(const ByteSource& source);

/// Reads the entry at `position`, and sets `position` to that of the next entry. `reader` ends with
/// the directory. Throws Error(malformed). If the end of the entry is unknown, `position` does not
/// change.
ZipMember read_zip_entry(WindowReader& reader, std::uint64_t& position);
/// Returns the first file position from `from` on that starts with the magic of an entry; the end
/// of the directory if there is none.
std::uint64_t find_next_zip_entry(WindowReader& reader, std::uint64_t from);

/// Returns the file position of the member's bytes. Throws Error(malformed) unless its local header
/// agrees with the directory.
std::uint64_t find_zip_data(const ByteSource& source, const ZipMember& member);

}  // namespace bloscfs::frame::inline pystore
