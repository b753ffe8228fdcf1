#pragma once
// Describes a frame in words.

#include "frame/container/snapshot.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns a sentence about the kind and the size of a frame, and a list of its properties.
Markup facts(const frame::Snapshot& snapshot);
/// Returns the description of the remains of a damaged frame.
Markup facts(const frame::FrameInfo& info);

}  // namespace bloscfs::tools
