#pragma once
// A block of an array divided into cells, and the two filters that use cells
// (codec/formats/plugins.md). NDCELL stores the items of one cell after another. NDMEAN replaces
// each item of a cell by the cell's mean.

#include <array>
#include <cstdint>
#include <string>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class CellGrid {
 public:
  /// Makes the grid for a filter slot with NDCELL or NDMEAN, in blocks of `size` bytes. Throws
  /// Error: unsupported without a shape of blocks, malformed with the text of problem().
  CellGrid(const ChunkHeader& header, const FilterStep& step, std::size_t size);

  /// Returns why a slot with NDCELL or NDMEAN cannot be used in blocks of `size` bytes, as text;
  /// empty if it can.
  static std::string problem(const ChunkHeader& header, const FilterStep& step, std::int64_t size);

  /// Convert a block from its own order to the order of its cells, and back. Both arguments have
  /// the size of a block, and must not overlap.
  void to_cells(Bytes block, MutableBytes cells) const;
  void from_cells(Bytes cells, MutableBytes block) const;
  /// Like to_cells(), but replaces each item by the mean of its cell. Items are floating-point
  /// numbers of 4 or 8 bytes.
  void to_means(Bytes block, MutableBytes cells) const;

 private:
  using Extents = std::array<std::int64_t, BlockShape::kMaxDimensions>;
  struct Cell {
    Extents origin;   ///< in items
    Extents extents;  ///< in items, cut off at the block's end
  };

  template <typename Visit>
  void for_each_cell(Visit visit) const;
  /// Calls `visit` for each row of items of a cell, with the row's offset in the block in bytes.
  template <typename Visit>
  void for_each_row(const Cell& cell, Visit visit) const;
  std::size_t row_size(const Cell& cell) const;
  template <typename Float>
  void put_means(Bytes block, MutableBytes cells) const;

  std::size_t dimensions_;
  std::size_t typesize_;
  Extents shape_{}, sides_{}, strides_{};  ///< in items
};

}  // namespace bloscfs::codec
