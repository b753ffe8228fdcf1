#pragma once
// Contiguous frames: everything in one file, or in a part of one (formats/cframe.md).

#include <memory>

#include "frame/open.hpp"

namespace bloscfs::frame {

/// Opens the frame that starts at settings.frame_offset of `source`, reading its header and
/// trailer only. Throws Error if it cannot be trusted.
std::unique_ptr<Snapshot> open_cframe(std::shared_ptr<const ByteSource> source,
                                      const OpenSettings& settings);

}  // namespace bloscfs::frame
