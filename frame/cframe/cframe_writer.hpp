#pragma once
// Opens and makes contiguous frames for writing.

#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::frame::inline cframe {

/// Opens a contiguous frame at the start of a file for writing. Snapshots that the writer makes
/// share its open file; `known`, if not null, is a snapshot of the same state that is in use
/// already, and is looked after like those. Throws Error if the frame cannot be trusted, and
/// std::system_error: EOPNOTSUPP for the layout of before 2.0, ESTALE when `known` is outdated.
std::unique_ptr<FrameWriter> open_cframe_writer(
    std::shared_ptr<StoreDirectory> directory, const std::string& name,
    const WriterSettings& settings, const std::shared_ptr<const Snapshot>& known = nullptr);

/// Makes a frame, which exists once its first transaction is committed. `name` is new; a temporary
/// name lets the caller rename the frame into place when it is complete: behind the flush that
/// follows write(). An `empty_file` of that name that is there already may be given.
/// Throws std::system_error: EEXIST, EINVAL for impossible settings.
std::unique_ptr<FrameWriter> create_cframe(std::shared_ptr<StoreDirectory> directory,
                                           const std::string& name, const FrameSettings& frame,
                                           const WriterSettings& settings,
                                           std::shared_ptr<StoreFile> empty_file = nullptr);

/// What a frame that is made so says of itself as long as it is empty. Errors as create_cframe().
FrameInfo plan_cframe(const FrameSettings& frame);

}  // namespace bloscfs::frame::inline cframe
