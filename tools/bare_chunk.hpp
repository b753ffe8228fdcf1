#pragma once
// Opens a file that is one chunk (.cdata) as a container of that chunk.

#include <memory>
#include <string>

#include "frame/container/snapshot.hpp"

namespace bloscfs::tools {

/// Throws Error unless the file starts with a valid chunk. Throws std::system_error if it cannot be
/// read.
std::shared_ptr<const frame::Snapshot> open_bare_chunk(const std::string& path);

}  // namespace bloscfs::tools
