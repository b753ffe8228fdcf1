#pragma once
// Reads the metadata section of a Bloscpack file (frame/formats/bloscpack.md, "Metadata").

#include <cstdint>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline bloscpack {

struct BloscpackMetadata {
  std::uint64_t section_size = 0;  ///< bytes, including the digest
  std::optional<ArrayInfo> array;  ///< if the JSON text describes a NumPy array
};

/// Reads the section at `offset`, and checks digest, size and syntax. Throws Error.
BloscpackMetadata read_bloscpack_metadata(const ByteSource& source, std::uint64_t offset,
                                          std::uint64_t file_size);

/// Returns the JSON text of the section at `offset`, at most 64 MiB. Checks digest and size, but
/// not the syntax. Throws Error.
std::string read_bloscpack_text(const ByteSource& source, std::uint64_t offset,
                                std::uint64_t file_size);

}  // namespace bloscfs::frame::inline bloscpack
