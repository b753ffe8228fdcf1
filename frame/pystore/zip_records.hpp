#pragma once
// The records of a ZIP file, parsed: where its central directory is, its entries, local headers.

#include <cstdint>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/window_reader.hpp"

namespace bloscfs::frame::inline pystore {

struct ZipMember {
  std::string name;             ///< relative to the root, with slashes between its parts
  std::uint64_t size = 0;       ///< bytes that are stored
  std::uint64_t full_size = 0;  ///< bytes when inflated
  std::uint32_t crc = 0;        ///< CRC-32 of the inflated bytes
  std::uint16_t method = 0;
  bool is_stored = true;       ///< neither compressed nor encrypted
  std::uint32_t number = 0;    ///< of its entry in the directory
  std::uint64_t local_at = 0;  ///< file position of its local header
};

/// Where the central directory is, inside the file.
struct ZipDirectoryPlace {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;  ///< as announced
};

/// Looks for the end of the directory in the last 64 KiB. Throws Error(malformed) where there is
/// none, std::system_error.
ZipDirectoryPlace find_zip_directory(const ByteSource& source);

/// Reads the entry at a file position, which then is that of the next one. `reader` ends with the
/// directory. Throws Error(malformed): with `position` unchanged where the next one cannot be
/// found.
ZipMember read_zip_entry(WindowReader& reader, std::uint64_t& position);
/// The file position, from there on, where something begins as an entry does; the directory's end
/// if nothing does.
std::uint64_t find_next_zip_entry(WindowReader& reader, std::uint64_t from);

/// File position of the member's bytes. Throws Error(malformed) unless its local header says the
/// same as the directory.
std::uint64_t find_zip_data(const ByteSource& source, const ZipMember& member);

}  // namespace bloscfs::frame::inline pystore
