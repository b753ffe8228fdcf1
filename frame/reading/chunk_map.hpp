#pragma once
// Where the chunks of a variable-size frame begin: checkpoints from one pass over their headers
// (frame/formats/cframe.md, "Variable-size frames").

#include <cstdint>
#include <functional>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/reading/chunk_index.hpp"
#include "frame/stored/paged_table.hpp"

namespace bloscfs::frame::inline reading {

/// Pages of such a frame are runs of `stride` chunks; the map knows the content offset of each.
struct VariableChunkMap {
  static constexpr std::int64_t kMinStride = 64;
  static constexpr std::size_t kMaxCheckpoints = 65536;

  std::int64_t page_of(std::int64_t chunk) const { return chunk / stride; }
  /// The page that holds `content_offset`. Throws Error when there is none.
  std::int64_t page_at(std::int64_t content_offset) const;
  std::size_t memory() const {
    return sizeof(*this) + checkpoints.capacity() * sizeof(std::int64_t);
  }

  std::int64_t stride = kMinStride;
  std::vector<std::int64_t> checkpoints;  ///< content offset of chunk i * stride, ascending
  std::int64_t nchunks = 0;
  std::int64_t nbytes = 0;
  std::int64_t special_chunk = -1;  ///< the one chunk without stored bytes, if any
  std::int32_t special_nbytes = 0;  ///< its size, which nothing else tells
};

/// Decoded size of the stored chunk that a place names.
using ChunkSizer = std::function<std::int32_t(const ChunkPlace& place)>;

/// Makes the map of a frame. Throws Error: malformed when the sizes do not add up or more than one
/// special chunk leaves them unknown, too_large when there are more than `max_chunks`.
VariableChunkMap build_chunk_map(const IndexRules& rules, const PagedTable& table,
                                 std::int64_t max_chunks, std::size_t max_memory,
                                 const ChunkSizer& size_of, codec::BlockDecoder& decoder);

/// Reads one page of the index and the sizes of its chunks.
std::unique_ptr<const IndexPage> read_variable_page(const IndexRules& rules,
                                                    const PagedTable& table,
                                                    const VariableChunkMap& map, std::int64_t page,
                                                    const ChunkSizer& size_of,
                                                    codec::BlockDecoder& decoder);

/// Bytes of memory that read_variable_page takes at most.
std::int64_t variable_page_memory(const PagedTable& table, const VariableChunkMap& map);

}  // namespace bloscfs::frame::inline reading
