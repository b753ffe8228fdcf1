#pragma once
// Contiguous frames: everything in one file, or in a part of one (frame/formats/cframe.md).

#include <memory>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame {

/// Opens the frame that `source` starts with, reading its header and
/// trailer only. Throws Error if it cannot be trusted.
/// `expected` is what snapshots of one writer share; null otherwise.
std::unique_ptr<FrameSnapshot> open_cframe(std::shared_ptr<const ByteSource> source,
                                           const OpenSettings& settings,
                                           std::shared_ptr<ExpectedState> expected = nullptr);

}  // namespace bloscfs::frame
