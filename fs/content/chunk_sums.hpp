#pragma once
// Checksums of chunks of a committed state. When another program changes the file in place, the
// checksums tell which chunks it left unchanged.

#include <cstdint>
#include <map>
#include <optional>

#include "codec/special_value.hpp"
#include "fs/content/layer.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

struct ChunkSum {
  codec::SpecialValue special = codec::SpecialValue::none;  ///< if not none, the file stores no
                                                            ///< bytes for the chunk
  std::uint64_t sum = 0;                                    ///< XXH3-64 of the stored bytes
  bool operator==(const ChunkSum&) const = default;
};
/// By chunk number.
using ChunkSums = std::map<std::int64_t, ChunkSum>;

/// Limits for one file: the number of checksums that are kept, the number of chunks that one
/// request reads to compute checksums, and the stored bytes of a chunk that gets a checksum.
inline constexpr std::size_t kMostSums = 16384, kMostSumsAtOnce = 256;
inline constexpr std::int64_t kMostSummedBytes = std::int64_t{16} << 20;
/// Approximate memory of one entry, in bytes.
inline constexpr std::size_t kSumMemory = 80;

/// Reads the chunk and returns its checksum, or nullopt if the chunk is too large. Throws the
/// errors of FrameReader.
std::optional<ChunkSum> sum_of_chunk(Request& request, const FileView& view, std::int64_t chunk);

/// Returns the checksums of the chunks that `layer` changes, if the layer's changes to `before` can
/// be applied to `next` as well. Three conditions:
/// - both states have the same layout;
/// - the layer changes only bytes, and cuts nothing off;
/// - according to `sums`, these chunks are the same in `next`.
///
/// Else returns nullopt. Throws the errors of FrameReader.
std::optional<ChunkSums> combinable_chunks(Request& request, const Layer& layer,
                                           const FileView& before, const ChunkSums& sums,
                                           const FileView& next);

}  // namespace bloscfs::fs
