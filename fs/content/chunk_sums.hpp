#pragma once
// What chunks of a committed state are, so that a later state can be compared with it. Another
// program writes over that state in place: it cannot be read again then.

#include <cstdint>
#include <map>

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

/// Most chunks of one file that are remembered.
inline constexpr std::size_t kMostSums = 16384;

/// Reads the chunk. Errors as FrameReader's.
ChunkSum sum_of_chunk(const FileView& view, std::int64_t chunk);

/// True if what `layer` has over `before` can be laid over `next` as well: the layout is the same,
/// the layer changes bytes alone, and the chunks that it changes are in `next` what they were
/// according to `sums`. Errors as FrameReader's.
bool can_be_combined(const Layer& layer, const FileView& before, const ChunkSums& sums,
                     const FileView& next);

}  // namespace bloscfs::fs
