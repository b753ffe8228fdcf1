#pragma once
// Opens a container of any writable kind for writing.

#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::frame::inline open {

/// Opens the frame `name` in `directory`. `is_directory` is true for a sparse frame;
/// FrameInfo::is_directory(), or the type of the file, tells it. `settings` and `known` mean the
/// same as in open_cframe_writer().
std::unique_ptr<FrameWriter> open_writer(const std::shared_ptr<StoreDirectory>& directory,
                                         const std::string& name, bool is_directory,
                                         const WriterSettings& settings,
                                         const std::shared_ptr<const Snapshot>& known = nullptr);

}  // namespace bloscfs::frame::inline open
