#pragma once
// Encodes a chunk of which a commit changes a part.

#include <cstdint>

#include "codec/chunk_encoder.hpp"
#include "fs/commit/chunk_changes.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

struct ChunkSize {
  std::int64_t nbytes;
  std::int64_t used;  ///< bytes that can be written; the rest is the padding of an array
};

/// Encodes chunk `number` with its changes into the front of `out`, which has
/// room for it even if it does not compress. Unchanged blocks keep their stored bytes if the chunk
/// allows that. In chunks behind the last committed one, bytes without a change are zeros. May be
/// called on any thread while `view` is not replaced. Throws the errors of FrameReader.
codec::EncodedSize encode_changed_chunk(Request& request, codec::ChunkEncoder& encoder,
                                        const FileView& view, std::int64_t number,
                                        const ChunkSize& size, const ChunkChanges& changes,
                                        codec::MutableBytes out);

}  // namespace bloscfs::fs
