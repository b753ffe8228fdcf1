#pragma once
// Limits on the size of a file. A change that could not be committed is refused when it is
// requested (frame/header/frame_limits.hpp).

#include <cstdint>

#include "frame/container/snapshot.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/options/write_options.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// The file as it is until the next commit.
struct StoredFile {
  const FileView* view = nullptr;  ///< null: a new file
  const frame::Snapshot* snapshot = nullptr;
  const WriteOptions& options;
  bool raw = false;
  std::size_t memory = 0;  ///< the whole memory budget, in bytes
};

/// True if there is memory to encode chunks of `nbytes`: the whole budget and 8 MiB, so that usual
/// chunks can be changed even with the smallest cache.
constexpr bool can_be_encoded(std::int64_t nbytes, std::size_t memory) {
  constexpr std::int64_t kOutsideCache = 8 << 20;
  return memory_to_encode(nbytes) <= static_cast<std::int64_t>(memory) + kOutsideCache;
}

/// True if one commit may store this many chunks anew. What the commit remembers of the chunks must
/// fit into half of the memory budget.
constexpr bool can_be_rewritten(std::int64_t chunks, std::size_t memory) {
  constexpr std::int64_t kChunkMemory = 256;
  return chunks <= static_cast<std::int64_t>(memory) / 2 / kChunkMemory;
}

/// True if a commit can store a part of the contents anew and keep the rest. False for frames with
/// variable-length blocks, and for unsupported codecs and filters.
bool can_be_changed_in_part(const frame::FrameInfo& info);

/// Throws std::system_error(EFBIG) if the file cannot be stored with `size` bytes, changed from
/// offset `begin` on. Also throws it if there is no memory to encode the file's chunks, or if the
/// file must be rewritten and has too many chunks. Does I/O only near the limit.
void require_storable(const StoredFile& file, std::int64_t begin, std::int64_t size);

}  // namespace bloscfs::fs
