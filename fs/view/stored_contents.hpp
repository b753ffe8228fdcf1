#pragma once
// Tells frames whose contents are in their chunks from those that only say how to get them.

#include <optional>
#include <string>

#include "fs/view/frame_reader.hpp"

namespace bloscfs::fs {

/// Why the contents are not to be had from this frame ("a lazy expression, ..."); nullopt where its
/// chunks have them. Looks through the index of a proxy. Errors: as FrameReader's.
std::optional<std::string> missing_contents(Request& request, const FrameReader& reader);

}  // namespace bloscfs::fs
