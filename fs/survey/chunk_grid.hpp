#pragma once
// Cells for the chunks of a container: one cell for each chunk if there are few, otherwise one for
// each box of neighbouring chunks. Does no I/O.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::fs {

class ChunkGrid {
 public:
  struct Dimension {
    std::int64_t chunks = 0;
    std::int64_t width = 1;  ///< chunks of a cell in this dimension; the last cell may have fewer
    std::int64_t cells() const { return codec::ceil_div(chunks, width); }
    bool operator==(const Dimension&) const = default;
  };

  /// Chunks of arrays of one to three dimensions lie as in the array. All other chunks follow each
  /// other along a single dimension. The grid has at most `max_cells` cells.
  ChunkGrid(const frame::FrameInfo& info, std::int64_t max_cells);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// True if the place of a cell shows where in the array its chunks are.
  bool is_of_array() const { return is_of_array_; }
  std::int64_t cell_count() const;
  /// Returns the number of the cell, in C order, that a chunk belongs to.
  std::int64_t cell_of(std::int64_t chunk) const;
  /// Returns the place of a chunk along each dimension.
  std::vector<std::int64_t> place_of(std::int64_t chunk) const;
  /// Returns how many chunks the cell has.
  std::int64_t chunks_of(std::int64_t cell) const;
  /// Returns the number of the cell's first chunk.
  std::int64_t first_chunk_of(std::int64_t cell) const;

 private:
  /// Returns the place of a cell along each dimension.
  std::vector<std::int64_t> cell_place(std::int64_t cell) const;

  std::vector<Dimension> dimensions_;
  bool is_of_array_ = false;
};

}  // namespace bloscfs::fs
