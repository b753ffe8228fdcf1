#pragma once
// The metadata section of a Bloscpack file (frame/formats/bloscpack.md, "Metadata").

#include <cstdint>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline bloscpack {

struct BloscpackMetadata {
  std::uint64_t section_size = 0;  ///< bytes, digest included
  std::optional<ArrayInfo> array;  ///< where the JSON text describes a NumPy array
};

/// Reads the section at `offset` and checks digest, size and syntax. Throws Error.
BloscpackMetadata read_bloscpack_metadata(const ByteSource& source, std::uint64_t offset,
                                          std::uint64_t file_size);

/// The JSON text of the section at `offset`, as it is; 64 MiB at most. Checks digest and size, but
/// not the syntax. Throws Error.
std::string read_bloscpack_text(const ByteSource& source, std::uint64_t offset,
                                std::uint64_t file_size);

}  // namespace bloscfs::frame::inline bloscpack
