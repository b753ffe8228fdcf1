#pragma once
// Opens a container for writing, of whichever kind that is written.

#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::frame::inline open {

/// Opens the frame `name` in `directory`; `is_directory` says of which kind it is, as
/// FrameInfo::is_directory() and a look at the name do. The rest is as for open_cframe_writer().
std::unique_ptr<FrameWriter> open_writer(const std::shared_ptr<StoreDirectory>& directory,
                                         const std::string& name, bool is_directory,
                                         const WriterSettings& settings,
                                         const std::shared_ptr<const Snapshot>& known = nullptr);

}  // namespace bloscfs::frame::inline open
