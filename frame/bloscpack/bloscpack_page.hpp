#pragma once
// A run of consecutive chunks of a Bloscpack file: their places and sizes.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frame/bloscpack/bloscpack_header.hpp"
#include "frame/bloscpack/bloscpack_walk.hpp"

namespace bloscfs::frame::inline bloscpack {

/// Properties of all chunks. Sizes come from the file's header if it knows them, otherwise from the
/// chunks' headers.
struct BloscpackGeometry {
  bool uniform = false;  ///< all chunks but the last have chunk_size bytes of contents
  std::int32_t chunk_size = 0, last_chunk = 0;
  std::int64_t nchunks = 0;
  ChunkArea area;

  /// For uniform sizes: the decoded size of a chunk, and the chunk that holds a content offset.
  std::int32_t nbytes_of(std::int64_t chunk) const {
    return chunk + 1 == nchunks ? last_chunk : chunk_size;
  }
  std::int64_t chunk_at(std::int64_t content_offset) const {
    return chunk_size > 0 ? std::min(content_offset / chunk_size, nchunks - 1) : 0;
  }
};

class BloscpackPage final : public IndexPage {
 public:
  /// Makes a page of `count` chunks without positions. place() throws `failure` for a chunk whose
  /// position is -1 or missing.
  BloscpackPage(const BloscpackGeometry& geometry, std::int64_t first, std::int64_t count,
                std::string failure)
      : geometry_(geometry), first_(first), count_(count), failure_(std::move(failure)) {}

  /// Sets the file positions of the chunks, beginning with the first, from the offset table.
  void set_positions(std::vector<std::int64_t> positions) { positions_ = std::move(positions); }
  /// Walks over the page's chunks. `from` is the place of the first one. `source` is borrowed.
  void walk(const ByteSource& source, const BloscpackMap::Checkpoint& from);

  std::int64_t first_chunk() const override { return first_; }
  std::int64_t chunk_count() const override { return count_; }
  ChunkPlace place(std::int64_t chunk) const override;
  std::int64_t chunk_at(std::int64_t content_offset) const override;
  bool uniform_special() const override { return false; }
  std::size_t memory() const override;

 private:
  BloscpackGeometry geometry_;
  std::int64_t first_, count_;
  std::vector<std::int64_t> positions_;        ///< -1: unknown; may be fewer than count_
  std::vector<std::int64_t> content_offsets_;  ///< one more than positions_; empty if uniform
  std::string failure_;
};

}  // namespace bloscfs::frame::inline bloscpack
