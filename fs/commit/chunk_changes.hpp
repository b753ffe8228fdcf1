#pragma once
// Determines the chunks of a frame that a commit stores anew, and their changed parts. Pure
// functions.

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

/// A changed part of a chunk: bytes, or zeros if `bytes` is null.
struct ChunkChange {
  std::int64_t chunk_offset;
  std::int64_t size;
  const std::uint8_t* bytes;
};
using ChunkChanges = std::vector<ChunkChange>;

/// The contents of a flat frame, cut into chunks of one size. Sizes are in bytes.
struct FlatCut {
  std::int64_t chunksize = 0;
  std::int64_t typesize = 1;
  std::int64_t size = 0;

  codec::ByteRange range(std::int64_t chunk) const;
  /// Returns the last chunk if it ends within an item. Such a chunk always gets stored bytes, even
  /// if it is all zeros: C-Blosc2 2.17 does not read it as a special chunk.
  std::optional<std::int64_t> chunk_within_item() const;
};

/// Returns the chunks into which bytes other than ranges of zeros were written.
std::set<std::int64_t> written_chunks(const ByteOverlay& written, const FlatCut& cut);

/// Returns the chunks that must be encoded as a whole because the size changes; the first `kept` of
/// `old_size` bytes stay. Examples with chunks of 100 bytes: 250 -> 430 gives chunk 2, which grows,
/// and chunk 4 if it ends within an item. 250 -> 30 -> 250 gives chunk 0, which loses bytes.
std::set<std::int64_t> resized_chunks(const FlatCut& cut, std::int64_t kept, std::int64_t old_size);

/// Returns the changes of one chunk of a flat frame. The chunk is `range` of the file.
ChunkChanges changes_of_range(const ByteOverlay& written, const codec::ByteRange& range);

/// Returns the changes of each chunk of an array. The file shows the array behind a header of
/// `header_size` bytes. Its size was `old_size`, and is `size` now.
std::map<std::int64_t, ChunkChanges> changes_of_array(const frame::ArrayGeometry& geometry,
                                                      const Layer& layer, std::int64_t header_size,
                                                      std::int64_t size, std::int64_t old_size);

/// Applies the changes in a range of the chunk to `out`, which begins at `chunk_offset`.
void apply_changes(const ChunkChanges& changes, std::int64_t chunk_offset, codec::MutableBytes out);

}  // namespace bloscfs::fs
