#pragma once
// Opens and creates sparse frames for writing.

#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::frame::inline sframe {

/// Opens the sparse frame in the directory `name` of `parent` for writing. Otherwise the same as
/// open_cframe_writer().
std::unique_ptr<FrameWriter> open_sframe_writer(
    const std::shared_ptr<StoreDirectory>& parent, const std::string& name,
    const WriterSettings& settings, const std::shared_ptr<const Snapshot>& known = nullptr);

/// Creates a sparse frame. It exists once its first transaction is committed. `name` is new. Throws
/// std::system_error: EEXIST, EINVAL for impossible settings.
std::unique_ptr<FrameWriter> create_sframe(const std::shared_ptr<StoreDirectory>& parent,
                                           const std::string& name, const FrameSettings& frame,
                                           const WriterSettings& settings);

}  // namespace bloscfs::frame::inline sframe
