#pragma once
// Which chunks of a frame a commit stores anew, and which parts of them have changed. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk.hpp"
#include "frame/array/array_geometry.hpp"
#include "fs/content/layer.hpp"

namespace bloscfs::fs {

/// A part of a chunk that has changed: bytes, or zeros where null.
struct ChunkChange {
  std::int64_t chunk_offset;
  std::int64_t size;
  const std::uint8_t* bytes;
};
using ChunkChanges = std::vector<ChunkChange>;

/// Contents of a flat frame, cut into chunks of one size. Sizes in bytes.
struct FlatCut {
  std::int64_t chunksize = 0;
  std::int64_t typesize = 1;
  std::int64_t size = 0;

  codec::ByteRange range(std::int64_t chunk) const;
  /// The last chunk, if it ends within an item. C-Blosc2 2.17 reads no zeros without stored bytes
  /// there, so that such a chunk is always encoded.
  std::optional<std::int64_t> chunk_within_item() const;
};

/// Chunks to which bytes were written, and not only zeros.
std::set<std::int64_t> written_chunks(const ByteOverlay& written, const FlatCut& cut);

/// Chunks that are encoded as a whole because the size changes, where of `old_size` bytes the first
/// `kept` stay. With chunks of 100 bytes, 250 -> 430: chunk 2, which becomes longer, and chunk 4 if
/// it ends within an item. 250 -> 30 -> 250: chunk 0, which loses bytes.
std::set<std::int64_t> resized_chunks(const FlatCut& cut, std::int64_t kept, std::int64_t old_size);

/// What has changed of a range that is one chunk.
ChunkChanges changes_of_range(const ByteOverlay& written, const codec::ByteRange& range);

/// What has changed of each chunk of an array that is shown behind `header_size` bytes, as a file
/// of `size` bytes of which `old_size` were there.
std::map<std::int64_t, ChunkChanges> changes_of_array(const frame::ArrayGeometry& geometry,
                                                      const Layer& layer, std::int64_t header_size,
                                                      std::int64_t size, std::int64_t old_size);

/// Puts what the changes have of a range of the chunk into `out`.
void apply_changes(const ChunkChanges& changes, std::int64_t chunk_offset, codec::MutableBytes out);

}  // namespace bloscfs::fs
