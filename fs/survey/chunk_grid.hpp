#pragma once
// Cells for the chunks of a container: one for each chunk where there are few, else one for each
// box of neighbours. Pure.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::fs {

class ChunkGrid {
 public:
  struct Dimension {
    std::int64_t chunks = 0;
    std::int64_t width = 1;  ///< chunks that a cell has along it; the last one may have fewer
    std::int64_t cells() const { return codec::ceil_div(chunks, width); }
    bool operator==(const Dimension&) const = default;
  };

  /// Chunks of arrays of one to three dimensions lie as in the array; those of others follow each
  /// other along a single dimension. At most `max_cells` cells.
  ChunkGrid(const frame::FrameInfo& info, std::int64_t max_cells);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// True where a cell's place tells where in the array its chunks are.
  bool is_of_array() const { return is_of_array_; }
  std::int64_t cell_count() const;
  /// Number of the cell, in C order, that a chunk belongs to.
  std::int64_t cell_of(std::int64_t chunk) const;
  /// Where a chunk is, along each dimension.
  std::vector<std::int64_t> place_of(std::int64_t chunk) const;
  /// Chunks that the cell has.
  std::int64_t chunks_of(std::int64_t cell) const;
  /// The first of them.
  std::int64_t first_chunk_of(std::int64_t cell) const;

 private:
  /// Of a cell, along each dimension.
  std::vector<std::int64_t> cell_place(std::int64_t cell) const;

  std::vector<Dimension> dimensions_;
  bool is_of_array_ = false;
};

}  // namespace bloscfs::fs
