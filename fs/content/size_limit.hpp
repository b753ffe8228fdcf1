#pragma once
// What a file can hold: what could not be committed is refused when it is asked for
// (frame/header/frame_limits.hpp).

#include <cstdint>

#include "frame/container/snapshot.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/options/write_options.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// What a file is until the next commit.
struct StoredFile {
  const FileView* view = nullptr;  ///< null: a new file
  const frame::Snapshot* snapshot = nullptr;
  const WriteOptions& options;
  bool raw = false;
  std::size_t memory = 0;  ///< all that there is
};

/// Whether that can be had: of all memory, and a little besides, so that usual chunks can be
/// changed with the smallest cache.
constexpr bool can_be_encoded(std::int64_t nbytes, std::size_t memory) {
  constexpr std::int64_t kBesides = 8 << 20;
  return memory_to_encode(nbytes) <= static_cast<std::int64_t>(memory) + kBesides;
}

/// Whether a commit may store so many chunks anew at once: what it remembers of them has to fit
/// into half of all memory.
constexpr bool can_be_rewritten(std::int64_t chunks, std::size_t memory) {
  constexpr std::int64_t kChunkMemory = 256;
  return chunks <= static_cast<std::int64_t>(memory) / 2 / kChunkMemory;
}

/// True if a commit can store a part of the contents anew and keep the rest: not for frames of
/// variable-length blocks, nor where a codec or a filter is not supported.
bool can_be_changed_in_part(const frame::FrameInfo& info);

/// Throws std::system_error(EFBIG) unless the file can be stored with `size` bytes, of which some
/// from `begin` on were changed; also where it has chunks that there is not the memory to encode,
/// or has to be written anew and has too many. Costs no I/O but near the limit.
void require_storable(const StoredFile& file, std::int64_t begin, std::int64_t size);

}  // namespace bloscfs::fs
