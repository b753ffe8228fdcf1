#pragma once
// Encodes a chunk that a commit changes in part.

#include <cstdint>

#include "codec/chunk_encoder.hpp"
#include "fs/commit/chunk_changes.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// Encodes chunk `number`, of `size` bytes, with its changes into the front of `out`, which has
/// room for it however badly it compresses. Blocks that did not change stay as they are stored,
/// where the chunk allows that. Behind the last committed chunk the rest is zeros. For any thread,
/// while nobody replaces `view`. Errors: as FrameReader's.
codec::EncodedSize encode_changed_chunk(Request& request, codec::ChunkEncoder& encoder,
                                        const FileView& view, std::int64_t number,
                                        std::int64_t size, const ChunkChanges& changes,
                                        codec::MutableBytes out);

}  // namespace bloscfs::fs
