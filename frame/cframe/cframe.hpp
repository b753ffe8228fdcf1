#pragma once
// Contiguous frames: everything is in one file, or in a part of one (frame/formats/cframe.md).

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/container/open_settings.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline cframe {

/// True if a frame begins at `position`. A file may hold several frames.
bool has_frame_at(const ByteSource& source, std::uint64_t position);

/// Opens the frame that `source` starts with. Reads only its header and trailer. Throws Error if it
/// cannot be trusted. `expected` is shared by the snapshots of one writer, otherwise null. `start`
/// may be null.
std::unique_ptr<FrameSnapshot> open_cframe(std::shared_ptr<const ByteSource> source,
                                           const OpenSettings& settings,
                                           std::shared_ptr<ExpectedState> expected = nullptr,
                                           SourceStart* start = nullptr);

/// A writer's knowledge of the state that it has just written. `header` is at most the first 4 KiB
/// of the header. `tail` is index and trailer, up to the frame's end.
struct WrittenEnds {
  std::vector<std::uint8_t> header;
  std::uint64_t tail_at = 0;
  std::vector<std::uint8_t> tail;
};

/// Opens the state that its writer has just left in the file. `stamp` is the stamp of that state.
/// The snapshot keeps the bytes in `ends` in memory, and never reads them from the file. `lock` is
/// the sidecar's, or null.
std::unique_ptr<FrameSnapshot> open_written_cframe(std::shared_ptr<const ByteSource> source,
                                                   const FileStamp& stamp, WrittenEnds ends,
                                                   std::shared_ptr<ExpectedState> expected,
                                                   std::shared_ptr<PeerLock> lock);

}  // namespace bloscfs::frame::inline cframe
