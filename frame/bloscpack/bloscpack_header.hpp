#pragma once
// A Bloscpack file's header as a checked value (frame/formats/bloscpack.md, "Header").

#include <cstdint>

#include "frame/bloscpack/digest.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline bloscpack {

struct BloscpackHeader {
  int version = 3;
  bool has_offsets = false;
  bool has_metadata = false;
  DigestKind checksum = DigestKind::none;
  std::int32_t typesize = 0;        ///< informative
  std::int32_t chunk_size = -1;     ///< decoded bytes of every chunk but the last; -1 unknown
  std::int32_t last_chunk = -1;     ///< decoded bytes of the last chunk; -1 unknown
  std::int64_t nchunks = -1;        ///< -1 unknown
  std::int64_t max_app_chunks = 0;  ///< free entries of the offset table
  std::uint64_t header_size = 0;    ///< bytes

  /// True if the header alone tells where every chunk's contents are.
  bool sizes_known() const { return chunk_size >= 0 && last_chunk >= 0 && nchunks >= 0; }
};

/// Reads the header and checks it against the size of the file. Throws Error: malformed, or
/// unsupported for later versions.
BloscpackHeader read_bloscpack_header(const ByteSource& source, std::uint64_t file_size);

}  // namespace bloscfs::frame::inline bloscpack
