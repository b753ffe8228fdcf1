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

/// Checkpoints of a variable-size frame. A page is a run of `stride` chunks, and the map knows its
/// content offset.
struct VariableChunkMap {
  static constexpr std::int64_t kMinStride = 64;
  static constexpr std::size_t kMaxCheckpoints = 65536;

  std::int64_t page_of(std::int64_t chunk) const { return chunk / stride; }
  /// Returns the page that holds `content_offset`. Throws Error if there is none.
  std::int64_t page_at(std::int64_t content_offset) const;
  std::size_t memory() const {
    return sizeof(*this) + checkpoints.capacity() * sizeof(std::int64_t);
  }

  std::int64_t stride = kMinStride;
  std::vector<std::int64_t> checkpoints;  ///< content offset of chunk i * stride, ascending
  std::int64_t nchunks = 0;
  std::int64_t nbytes = 0;
  std::int64_t special_chunk = -1;  ///< the one chunk without stored bytes, or -1
  std::int32_t special_nbytes = 0;  ///< its size, which only the map knows
};

/// Returns the decoded size of the stored chunk at a place.
using ChunkSizer = std::function<std::int32_t(const ChunkPlace& place)>;

/// Makes the map of a frame. Throws Error: malformed if the sizes do not add up, or if more than
/// one special chunk leaves them unknown; too_large for more than `max_chunks`.
VariableChunkMap build_chunk_map(const IndexRules& rules, const PagedTable& table,
                                 std::int64_t max_chunks, std::size_t max_memory,
                                 const ChunkSizer& size_of, codec::BlockDecoder& decoder);

/// Reads one page of the index, and the sizes of its chunks.
std::unique_ptr<const IndexPage> read_variable_page(const IndexRules& rules,
                                                    const PagedTable& table,
                                                    const VariableChunkMap& map, std::int64_t page,
                                                    const ChunkSizer& size_of,
                                                    codec::BlockDecoder& decoder);

/// Returns an upper bound of the memory, in bytes, that read_variable_page() takes.
std::int64_t variable_page_memory(const PagedTable& table, const VariableChunkMap& map);

}  // namespace bloscfs::frame::inline reading
