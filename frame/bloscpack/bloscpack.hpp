#pragma once
// Bloscpack files (.blp) of format versions 1 to 3 as snapshots (frame/formats/bloscpack.md).

#include <memory>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline bloscpack {

/// True if a file that starts with these bytes (at least 4 of them) may be a Bloscpack file.
bool has_bloscpack_magic(Bytes first_bytes);

/// Reads header and metadata, and both ends of the offset table. Reads all chunk headers only if
/// nothing else gives the number and sizes of the chunks. Throws Error, std::system_error.
std::unique_ptr<Snapshot> open_bloscpack(std::shared_ptr<const ByteSource> source,
                                         const OpenSettings& settings);

}  // namespace bloscfs::frame::inline bloscpack
