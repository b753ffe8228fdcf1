#pragma once
// A block of an array cut into cells, and the two filters that go by them: NDCELL, which stores
// item by item cell after cell, and NDMEAN, which puts a cell's mean in place of each of its items
// (codec/formats/plugins.md). A grid cannot be wrong.

#include <array>
#include <cstdint>
#include <string>

#include "codec/block_shape.hpp"
#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

class CellGrid {
 public:
  /// The grid of a slot with NDCELL or NDMEAN in blocks of `size` bytes. Throws Error: unsupported
  /// without a shape of blocks, malformed for what problem() names.
  CellGrid(const ChunkHeader& header, const FilterStep& step, std::size_t size);

  /// What is wrong with such a slot in blocks of `size` bytes, in words; empty: nothing.
  static std::string problem(const ChunkHeader& header, const FilterStep& step, std::int64_t size);

  /// From a block's own order to that of its cells, and back. Both are blocks, and don't overlap.
  void to_cells(Bytes block, MutableBytes cells) const;
  void from_cells(Bytes cells, MutableBytes block) const;
  /// As to_cells, with each cell's mean in place of its items, which are floating-point numbers of
  /// 4 or 8 bytes.
  void to_means(Bytes block, MutableBytes cells) const;

 private:
  using Extents = std::array<std::int64_t, BlockShape::kMaxDimensions>;
  struct Cell {
    Extents origin;   ///< items
    Extents extents;  ///< items, cut off at the block's end
  };

  template <typename Visit>
  void for_each_cell(Visit visit) const;
  /// Calls `visit` for each run of items of a cell, with where it begins in the block, in bytes.
  template <typename Visit>
  void for_each_row(const Cell& cell, Visit visit) const;
  std::size_t row_size(const Cell& cell) const;
  template <typename Float>
  void put_means(Bytes block, MutableBytes cells) const;

  std::size_t dimensions_;
  std::size_t typesize_;
  Extents shape_{}, sides_{}, strides_{};  ///< items
};

}  // namespace bloscfs::codec
