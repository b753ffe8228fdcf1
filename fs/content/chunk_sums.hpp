#pragma once
// Checksums of chunks of a committed state. Another program may change the file in place, and only
// they tell then which chunks it has left as they were.

#include <cstdint>
#include <map>
#include <optional>

#include "codec/special_value.hpp"
#include "fs/content/layer.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

struct ChunkSum {
  codec::SpecialValue special = codec::SpecialValue::none;  ///< not none: nothing is stored
  std::uint64_t sum = 0;                                    ///< XXH3-64 of the stored bytes
  bool operator==(const ChunkSum&) const = default;
};
/// By the number of the chunk.
using ChunkSums = std::map<std::int64_t, ChunkSum>;

/// Most chunks of one file whose sums are kept, most that one request has read for that, and most
/// stored bytes of such a chunk.
inline constexpr std::size_t kMostSums = 16384, kMostSumsAtOnce = 256;
inline constexpr std::int64_t kMostSummedBytes = std::int64_t{16} << 20;
/// Bytes of memory that one takes, about.
inline constexpr std::size_t kSumMemory = 80;

/// Reads the chunk. Nothing for one that is too large. Errors as FrameReader's.
std::optional<ChunkSum> sum_of_chunk(Request& request, const FileView& view, std::int64_t chunk);

/// The sums of the chunks that `layer` changes, if what it has over `before` can be laid over
/// `next` as well: the layout is the same, the layer changes bytes alone, and those chunks are in
/// `next` what they were according to `sums`. Errors as FrameReader's.
std::optional<ChunkSums> combinable_chunks(Request& request, const Layer& layer,
                                           const FileView& before, const ChunkSums& sums,
                                           const FileView& next);

}  // namespace bloscfs::fs
