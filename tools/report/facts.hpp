#pragma once
// What a frame is, in words.

#include "frame/container/snapshot.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// A sentence on what it is and how large, and a list of its properties.
Markup facts(const frame::Snapshot& snapshot);
/// The same of what is left of a damaged frame.
Markup facts(const frame::FrameInfo& info);

}  // namespace bloscfs::tools
