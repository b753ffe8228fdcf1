#pragma once
// Tells frames that store their contents from frames that only say how to get them.

#include <optional>
#include <string>

#include "fs/view/frame_reader.hpp"

namespace bloscfs::fs {

/// Returns why the frame does not have its contents ("a lazy expression, ..."); nullopt if its
/// chunks have them. Looks through the index of a proxy. Throws the errors of FrameReader.
std::optional<std::string> missing_contents(Request& request, const FrameReader& reader);

}  // namespace bloscfs::fs
