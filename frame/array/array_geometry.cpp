#include "frame/array/array_geometry.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline array {
namespace {

using Extents = std::vector<std::int64_t>;

/// Extents of an array along each dimension, which ArrayGeometry owns.
struct Grid {
  const Extents& shape;
  const Extents& chunk;
  const Extents& block;
  const Extents& chunks_along;
  const Extents& blocks_along;
  const Extents& strides;  ///< bytes between neighbours along each dimension
  const Extents& chunk_steps;
  const Extents& block_steps;
  const Extents& item_steps;
};

Extents unravel(std::int64_t offset, const Extents& strides) {
  Extents index(strides.size());
  for (std::size_t d = 0; d < strides.size(); ++d) {
    index[d] = offset / strides[d];
    offset %= strides[d];
  }
  return index;
}

std::int64_t ravel(const Extents& index, const Extents& along) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < index.size(); ++d) number = number * along[d] + index[d];
  return number;
}

std::int64_t at_steps(const Extents& index, const Extents& steps) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * steps[d];
  return sum;
}

/// Steps `index` through [lo, hi) in C order, in the dimensions [0, count). Returns false at the
/// end.
bool step(Extents& index, const Extents& lo, const Extents& hi, std::size_t count) {
  for (std::size_t d = count; d-- > 0;) {
    if (++index[d] < hi[d]) return true;
    index[d] = lo[d];
  }
  return false;
}

/// Visits the blocks that hold a part of a box of the array, in C order of chunks and then of
/// blocks.
class BoxCursor {
 public:
  BoxCursor(const Grid& grid, Extents lo, Extents hi)
      : grid_(grid), lo_(std::move(lo)), hi_(std::move(hi)), chunk_lo_(lo_), chunk_hi_(hi_) {
    for (std::size_t d = 0; d < lo_.size(); ++d) {
      chunk_lo_[d] = lo_[d] / grid_.chunk[d];
      chunk_hi_[d] = (hi_[d] - 1) / grid_.chunk[d] + 1;
    }
    chunk_ = chunk_lo_;
    block_lo_ = block_hi_ = lo_;
    enter_chunk();
  }

  bool valid() const { return valid_; }
  /// Returns the order in which blocks are visited. In C order these are the numbers of chunk and
  /// block.
  std::pair<std::int64_t, std::int64_t> at() const { return {chunk_order_, block_order_}; }
  /// Returns the number of the chunk, and of the block in it.
  std::pair<std::int64_t, std::int64_t> place() const {
    return {at_steps(chunk_, grid_.chunk_steps), at_steps(block_, grid_.block_steps)};
  }

  void advance() {
    if (step(block_, block_lo_, block_hi_, block_.size()))
      block_order_ = ravel(block_, grid_.blocks_along);
    else if (step(chunk_, chunk_lo_, chunk_hi_, chunk_.size()))
      enter_chunk();
    else
      valid_ = false;
  }

  /// Returns how many bytes of the current block belong to the array, and where the last one ends.
  std::pair<std::int64_t, std::int64_t> used() const {
    std::int64_t size = 1, last = 0;
    for (std::size_t d = 0; d < block_.size(); ++d) {
      const std::int64_t in_chunk = block_[d] * grid_.block[d];
      const std::int64_t end =
          std::min(grid_.chunk[d], grid_.shape[d] - chunk_[d] * grid_.chunk[d]);
      const std::int64_t extent = std::min(grid_.block[d], end - in_chunk);
      size *= extent;
      last += (extent - 1) * grid_.item_steps[d];
    }
    return {size, last + 1};
  }

  /// Adds the rows of the box that are in the current block.
  void append_rows(std::vector<ArrayGeometry::Rows>& rows) const {
    const std::size_t last = lo_.size() - 1;
    Extents origin(lo_.size()), lo(lo_.size()), hi(lo_.size());
    for (std::size_t d = 0; d <= last; ++d) {
      const std::int64_t chunk_at = chunk_[d] * grid_.chunk[d];
      origin[d] = chunk_at + block_[d] * grid_.block[d];
      lo[d] = std::max(lo_[d], origin[d]);
      hi[d] = std::min({hi_[d], origin[d] + grid_.block[d], chunk_at + grid_.chunk[d]});
    }
    // Consecutive rows along the last but one dimension have equal distances.
    const std::size_t inner = last == 0 ? 0 : last - 1;
    const std::int64_t count = last == 0 ? 1 : hi[inner] - lo[inner];
    Extents row = lo;
    do {
      std::int64_t array_offset = 0, in_block = 0;
      for (std::size_t d = 0; d <= last; ++d) {
        array_offset += row[d] * grid_.strides[d];
        in_block += (row[d] - origin[d]) * grid_.item_steps[d];
      }
      append(rows, {{array_offset, in_block, hi[last] - lo[last]},
                    count,
                    grid_.strides[inner],
                    grid_.item_steps[inner]});
    } while (step(row, lo, hi, inner));
  }

 private:
  /// Merges rows that are adjacent both in the array and in the block.
  static void append(std::vector<ArrayGeometry::Rows>& rows, ArrayGeometry::Rows next) {
    ArrayGeometry::Run& run = next.first;
    if (next.array_step == run.length && next.block_step == run.length) {
      run.length *= next.count;
      next.count = 1;
    }
    if (!rows.empty() && rows.back().count == 1 && next.count == 1) {
      ArrayGeometry::Run& before = rows.back().first;
      if (before.array_offset + before.length == run.array_offset &&
          before.in_block + before.length == run.in_block) {
        before.length += run.length;
        return;
      }
    }
    rows.push_back(next);
  }

  void enter_chunk() {
    for (std::size_t d = 0; d < lo_.size(); ++d) {
      const std::int64_t origin = chunk_[d] * grid_.chunk[d];
      const std::int64_t begin = std::max(lo_[d], origin) - origin;
      const std::int64_t end = std::min(hi_[d], origin + grid_.chunk[d]) - origin;
      block_lo_[d] = begin / grid_.block[d];
      block_hi_[d] = (end - 1) / grid_.block[d] + 1;
    }
    block_ = block_lo_;
    chunk_order_ = ravel(chunk_, grid_.chunks_along);
    block_order_ = ravel(block_, grid_.blocks_along);
  }

  const Grid& grid_;
  Extents lo_, hi_;
  Extents chunk_lo_, chunk_hi_, chunk_;
  Extents block_lo_, block_hi_, block_;
  std::int64_t chunk_order_ = 0, block_order_ = 0;
  bool valid_ = true;
};

/// Adds the box with `prefix`[0, d) fixed, [begin, end) along d, and all of the dimensions behind
/// d, unless it is empty.
void add_box(std::vector<BoxCursor>& boxes, const Grid& grid, const Extents& prefix, std::size_t d,
             std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  Extents lo(prefix.begin(), prefix.end());
  Extents hi = lo;
  for (std::size_t i = 0; i < d; ++i) ++hi[i];
  lo[d] = begin;
  hi[d] = end;
  for (std::size_t i = d + 1; i < lo.size(); ++i) {
    lo[i] = 0;
    hi[i] = grid.shape[i];
  }
  boxes.emplace_back(grid, std::move(lo), std::move(hi));
}

/// Cuts the bytes [offset, offset + length), length > 0, into boxes that ascend in the array. First
/// the rest of the first row, the rest of its plane, and so on; then whole slices; then the
/// beginning of the last slice, in ever smaller parts down to the last row.
std::vector<BoxCursor> boxes_of(const Grid& grid, std::int64_t offset, std::int64_t length) {
  const Extents first = unravel(offset, grid.strides);
  const Extents last = unravel(offset + length - 1, grid.strides);
  const std::size_t end = first.size() - 1;
  std::size_t split = 0;
  while (split < end && first[split] == last[split]) ++split;
  std::vector<BoxCursor> boxes;
  if (split == end) {
    add_box(boxes, grid, first, end, first[end], last[end] + 1);
    return boxes;
  }
  for (std::size_t d = end; d > split; --d)
    add_box(boxes, grid, first, d, first[d] + (d == end ? 0 : 1), grid.shape[d]);
  add_box(boxes, grid, first, split, first[split] + 1, last[split]);
  for (std::size_t d = split + 1; d <= end; ++d)
    add_box(boxes, grid, last, d, 0, last[d] + (d == end ? 1 : 0));
  return boxes;
}

}  // namespace

ArrayGeometry::ArrayGeometry(const ArrayInfo& array, std::int32_t typesize)
    : shape_(array.shape.begin(), array.shape.end()),
      chunk_(array.chunkshape.begin(), array.chunkshape.end()),
      block_(array.blockshape.begin(), array.blockshape.end()),
      is_reversed_(array.fortran_order) {
  if (std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) return;
  // The bytes of an item become one more dimension. In C order it merges into the dimension before
  // it, as does every dimension that chunk and block span exactly.
  for (Extents* extents : {&shape_, &chunk_, &block_}) {
    if (is_reversed_) std::reverse(extents->begin(), extents->end());
    extents->push_back(typesize);
  }
  for (std::size_t d = shape_.size() - 1; d > 0 && !is_reversed_; --d) {
    if (shape_[d] != chunk_[d] || chunk_[d] != block_[d]) continue;
    for (Extents* extents : {&shape_, &chunk_, &block_}) {
      (*extents)[d - 1] *= (*extents)[d];
      extents->erase(extents->begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  nbytes_ = padded_chunk_size_ = block_size_ = 1;
  strides_.resize(shape_.size());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    strides_[d] = nbytes_;
    nbytes_ *= shape_[d];
    block_size_ *= block_[d];
    padded_chunk_size_ *= codec::ceil_div(chunk_[d], block_[d]) * block_[d];
  }
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    chunks_along_.push_back(codec::ceil_div(shape_[d], chunk_[d]));
    blocks_along_.push_back(codec::ceil_div(chunk_[d], block_[d]));
  }
  set_steps();
}

void ArrayGeometry::set_steps() {
  const std::size_t count = shape_.size();
  for (Extents* steps : {&chunk_steps_, &block_steps_, &item_steps_}) steps->resize(count);
  std::int64_t chunk = 1, block = 1, item = 1;
  for (std::size_t i = 0; i < count; ++i) {
    // Begins with the dimension that is fastest in storage: the bytes of an item, then the array's
    // last.
    const std::size_t d = is_reversed_ && i > 0 ? i - 1 : count - 1 - i;
    chunk_steps_[d] = chunk;
    block_steps_[d] = block;
    item_steps_[d] = item;
    chunk *= chunks_along_[d];
    block *= blocks_along_[d];
    item *= block_[d];
  }
}

void ArrayGeometry::for_each_block(std::int64_t offset, std::int64_t length,
                                   const std::function<void(const BlockPart&)>& visit) const {
  assert(offset >= 0 && length >= 0 && offset <= nbytes_ && length <= nbytes_ - offset);
  if (length == 0) return;
  const Grid grid{shape_,   chunk_,       block_,       chunks_along_, blocks_along_,
                  strides_, chunk_steps_, block_steps_, item_steps_};
  std::vector<BoxCursor> boxes = boxes_of(grid, offset, length);
  std::vector<Rows> rows;
  for (;;) {
    // Several boxes may have parts in the same block, which is visited once.
    const BoxCursor* next = nullptr;
    for (const BoxCursor& box : boxes)
      if (box.valid() && (next == nullptr || box.at() < next->at())) next = &box;
    if (next == nullptr) return;
    const auto at = next->at();
    const auto [chunk, block] = next->place();
    const auto [used_size, used_end] = next->used();
    rows.clear();
    for (BoxCursor& box : boxes) {
      if (!box.valid() || box.at() != at) continue;
      box.append_rows(rows);
      box.advance();
    }
    visit({chunk, block * block_size_, block_size_, used_size, used_end, &rows});
  }
}

ArrayGeometry::ChunkRun ArrayGeometry::chunk_run(std::int64_t offset) const {
  assert(offset >= 0 && offset < nbytes_);
  const Extents index = unravel(offset, strides_);
  Extents chunk(index.size());
  for (std::size_t d = 0; d < index.size(); ++d) chunk[d] = index[d] / chunk_[d];
  // The run continues over trailing dimensions along which there is only one chunk.
  std::size_t d = index.size() - 1;
  while (d > 0 && chunks_along_[d] == 1) --d;
  const std::int64_t slice = d == 0 ? 0 : offset / strides_[d - 1] * strides_[d - 1];
  const std::int64_t chunk_end = std::min((chunk[d] + 1) * chunk_[d], shape_[d]);
  return {at_steps(chunk, chunk_steps_), slice + chunk_end * strides_[d]};
}

ArrayGeometry::Slab ArrayGeometry::slab_at(std::int64_t offset) const {
  assert(offset >= 0 && offset < nbytes_);
  if (is_reversed_) {
    const ChunkRun run = chunk_run(offset);
    return {run.chunk, run.chunk + 1, offset, run.end};
  }
  const std::int64_t row = offset / strides_[0] / chunk_[0];
  std::int64_t chunks = 1;
  for (std::size_t d = 1; d < chunks_along_.size(); ++d) chunks *= chunks_along_[d];
  const std::int64_t end = std::min((row + 1) * chunk_[0], shape_[0]);
  return {row * chunks, (row + 1) * chunks, row * chunk_[0] * strides_[0], end * strides_[0]};
}

}  // namespace bloscfs::frame::inline array
