#pragma once
// What a file can hold: what could not be committed is refused when it is asked for
// (frame/frame_limits.hpp).

#include <cstdint>

#include "frame/snapshot.hpp"
#include "fs/file_view.hpp"
#include "fs/write_options.hpp"

namespace bloscfs::fs {

/// What a file is until the next commit.
struct StoredFile {
  const FileView* view = nullptr;  ///< null: a new file
  const frame::Snapshot* snapshot = nullptr;
  const WriteOptions& options;
  bool raw = false;
};

/// True if a commit can store a part of the contents anew and keep the rest: not for frames of
/// variable-length blocks, nor where a codec or a filter is not supported.
bool can_be_changed_in_part(const frame::FrameInfo& info);

/// Throws std::system_error(EFBIG) unless the file can be stored with `size` bytes, of which some
/// from `begin` on were changed. Costs no I/O but near the limit.
void require_storable(const StoredFile& file, std::int64_t begin, std::int64_t size);

}  // namespace bloscfs::fs
