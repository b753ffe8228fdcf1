#include "codec/filter/cell_grid.hpp"

#include <algorithm>
#include <cstring>

#include "codec/error.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

constexpr int kMaxMeanSide = 127;  // the parameter of NDMEAN is a signed byte

/// True if a cell of `side` has more items than the block.
bool outgrow(const BlockShape& shape, std::int64_t side) {
  std::int64_t items = 1, cell = 1;
  for (const std::int32_t extent : shape.extents()) {
    items *= extent;
    cell = std::min<std::int64_t>(cell * side, kMaxBlocksize);
  }
  return cell > items;
}

/// True if C-Blosc2 misplaces means. In every dimension, it advances by the extent that the cells
/// have in the first dimension. Example: in blocks of 3x20 with cells of side 4, which are 3x4, it
/// averages other places than it fills.
bool misplaced_by_others(const BlockShape& shape, std::int32_t side) {
  const auto extents = shape.extents();
  return extents.front() < side &&
         std::any_of(extents.begin(), extents.end(), [&](std::int32_t e) { return e > side; });
}

std::string side_problem(const ChunkHeader& header, const FilterStep& step) {
  std::string with = "a cell of side " + std::to_string(step.meta);
  if (step.id == FilterId::ndcell) {
    if (step.meta == 0) return with;
    return outgrow(header.block_shape, step.meta) ? with + " is larger than a block" : "";
  }
  if (step.meta == 0 || step.meta > kMaxMeanSide) return with;
  return misplaced_by_others(header.block_shape, step.meta)
             ? with + " in blocks that are shorter than that in their first dimension alone"
             : "";
}

/// Advances to the next position below `limits` in the first `count` dimensions. Returns false
/// after the last position.
template <typename Extents>
bool advance(Extents& at, const Extents& steps, const Extents& limits, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {
    at[i] += steps[i];
    if (at[i] < limits[i]) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace

std::string CellGrid::problem(const ChunkHeader& header, const FilterStep& step,
                              std::int64_t size) {
  const std::string shape = header.block_shape.problem(header.full_typesize, size);
  return shape.empty() ? side_problem(header, step) : shape;
}

CellGrid::CellGrid(const ChunkHeader& header, const FilterStep& step, std::size_t size)
    : dimensions_(header.block_shape.extents().size()),
      typesize_(static_cast<std::size_t>(header.full_typesize)) {
  const std::string wrong = problem(header, step, static_cast<std::int64_t>(size));
  if (!wrong.empty()) {
    const std::string what = "filter " + filter_name(step.id) + ": " + wrong;
    if (!header.block_shape.is_known()) throw_unsupported(what);
    throw_malformed(what);
  }
  std::int64_t stride = 1;
  for (std::size_t i = dimensions_; i-- > 0;) {
    shape_[i] = header.block_shape.extents()[i];
    sides_[i] = std::min<std::int64_t>(step.meta, shape_[i]);
    strides_[i] = stride;
    stride *= shape_[i];
  }
}

template <typename Visit>
void CellGrid::for_each_cell(Visit visit) const {
  Cell cell{};
  do {
    for (std::size_t i = 0; i < dimensions_; ++i) {
      cell.extents[i] = std::min(sides_[i], shape_[i] - cell.origin[i]);
    }
    visit(cell);
  } while (advance(cell.origin, sides_, shape_, dimensions_));
}

template <typename Visit>
void CellGrid::for_each_row(const Cell& cell, Visit visit) const {
  static constexpr Extents kOnes = {1, 1, 1, 1, 1, 1, 1, 1};
  Extents at{};
  do {
    std::int64_t item = 0;
    for (std::size_t i = 0; i < dimensions_; ++i) item += (cell.origin[i] + at[i]) * strides_[i];
    visit(static_cast<std::size_t>(item) * typesize_);
  } while (advance(at, kOnes, cell.extents, dimensions_ - 1));
}

std::size_t CellGrid::row_size(const Cell& cell) const {
  return static_cast<std::size_t>(cell.extents[dimensions_ - 1]) * typesize_;
}

void CellGrid::to_cells(Bytes block, MutableBytes cells) const {
  std::uint8_t* out = cells.data();
  for_each_cell([&](const Cell& cell) {
    const std::size_t size = row_size(cell);
    for_each_row(cell, [&](std::size_t at) {
      std::memcpy(out, block.data() + at, size);
      out += size;
    });
  });
}

void CellGrid::from_cells(Bytes cells, MutableBytes block) const {
  const std::uint8_t* in = cells.data();
  for_each_cell([&](const Cell& cell) {
    const std::size_t size = row_size(cell);
    for_each_row(cell, [&](std::size_t at) {
      std::memcpy(block.data() + at, in, size);
      in += size;
    });
  });
}

/// Sums in the items' own type and order, so that the result is identical to C-Blosc2's.
template <typename Float>
void CellGrid::put_means(Bytes block, MutableBytes cells) const {
  std::uint8_t* out = cells.data();
  for_each_cell([&](const Cell& cell) {
    Float sum = 0;
    std::size_t count = 0;
    for_each_row(cell, [&](std::size_t at) {
      for (std::size_t i = 0; i < row_size(cell); i += sizeof(Float), ++count) {
        Float item = 0;
        std::memcpy(&item, block.data() + at + i, sizeof(Float));
        sum += item;
      }
    });
    const Float mean = sum / static_cast<Float>(count);
    for (; count > 0; --count, out += sizeof(Float)) std::memcpy(out, &mean, sizeof(Float));
  });
}

void CellGrid::to_means(Bytes block, MutableBytes cells) const {
  if (typesize_ == sizeof(float)) return put_means<float>(block, cells);
  if (typesize_ == sizeof(double)) return put_means<double>(block, cells);
  throw_malformed("filter ndmean: items of " + std::to_string(typesize_) + " bytes");
}

}  // namespace bloscfs::codec
