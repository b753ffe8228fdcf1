#pragma once
// Opens and creates contiguous frames for writing.

#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::frame::inline cframe {

/// Opens a contiguous frame at the start of a file for writing. Snapshots of the writer share its
/// open file. `known` may be null, or a snapshot of the same state that is already in use; the
/// writer does not overwrite the chunks of that snapshot while the snapshot exists. Throws Error if
/// the frame cannot be trusted, and std::system_error: EOPNOTSUPP for the layout of C-Blosc2 before
/// 2.0, ESTALE if `known` is out of date.
std::unique_ptr<FrameWriter> open_cframe_writer(
    std::shared_ptr<StoreDirectory> directory, const std::string& name,
    const WriterSettings& settings, const std::shared_ptr<const Snapshot>& known = nullptr);

/// Creates a frame. It exists once its first transaction is committed. `name` is new. With a
/// temporary name, the caller can rename the frame when it is complete, after the flush that
/// follows write(). `empty_file` may be an existing empty file of that name. Throws
/// std::system_error: EEXIST, EINVAL for impossible settings.
std::unique_ptr<FrameWriter> create_cframe(std::shared_ptr<StoreDirectory> directory,
                                           const std::string& name, const FrameSettings& frame,
                                           const WriterSettings& settings,
                                           std::shared_ptr<StoreFile> empty_file = nullptr);

/// Returns the properties of a frame that create_cframe() makes with these settings, before its
/// first transaction. Errors as create_cframe().
FrameInfo plan_cframe(const FrameSettings& frame);

}  // namespace bloscfs::frame::inline cframe
