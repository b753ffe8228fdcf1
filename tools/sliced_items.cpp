#include "tools/sliced_items.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 20;

/// Calls `use` for each index below `extents`, in C order. Each extent must be at least 1.
template <typename Use>
void for_each_index(const Shape& extents, Use use) {
  Shape index(extents.size());
  for (;;) {
    use(index);
    std::size_t i = index.size();
    for (; i > 0; i--) {
      if (++index[i - 1] < extents[i - 1]) break;
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

/// Returns the distance between neighbours along each axis; `step` for the last axis.
Shape strides_of(const Shape& extents, std::int64_t step) {
  Shape strides(extents.size());
  for (std::size_t i = extents.size(); i-- > 0; step *= extents[i]) strides[i] = step;
  return strides;
}

/// Returns `count` indexes of the slice, beginning with the one at `first`.
AxisSlice part_of(const AxisSlice& axis, std::int64_t first, std::int64_t count) {
  return {axis.start + first * axis.step, axis.step, count, axis.is_index};
}

/// Consecutive indexes of a slice that lie in one block.
struct Run {
  std::int64_t chunk, block;  ///< numbers along the axis
  AxisSlice in_block;
  std::int64_t first;  ///< position among the indexes of the slice
};

std::vector<Run> runs_of(const AxisSlice& axis, std::int64_t chunkshape, std::int64_t blockshape) {
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < axis.count; i++) {
    const std::int64_t index = axis.start + i * axis.step;
    const std::int64_t chunk = index / chunkshape, in_chunk = index % chunkshape;
    const std::int64_t block = in_chunk / blockshape;
    if (runs.empty() || runs.back().chunk != chunk || runs.back().block != block)
      runs.push_back({chunk, block, {in_chunk % blockshape, axis.step, 0, false}, i});
    runs.back().in_block.count++;
  }
  return runs;
}

std::int64_t last_of(const AxisSlice& axis) { return axis.start + (axis.count - 1) * axis.step; }

}  // namespace

Shape shape_of(const Elements& elements) {
  return elements.shape().value_or(Shape{elements.count()});
}

SlicedItems::SlicedItems(Elements& elements, Slice slice)
    : elements_(elements), slice_(std::move(slice)), shape_(shape_of(slice_)) {}

std::int64_t SlicedItems::count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_) count *= extent;
  return count;
}

void SlicedItems::read(const std::function<void(codec::Bytes)>& use) {
  if (count() == 0) return;
  // Reads in boxes of about kBytesAtOnce. A box has all indexes of the axes from `whole` on, a part
  // of the indexes of the axis before these, and one index of each other axis.
  const std::int64_t room = std::max<std::int64_t>(1, kBytesAtOnce / elements_.itemsize());
  std::size_t whole = slice_.size();
  std::int64_t items = 1;
  while (whole > 0 && slice_[whole - 1].count <= room / items) items *= slice_[--whole].count;
  const std::size_t outer = whole == 0 ? 0 : whole - 1;
  const std::int64_t along = whole == 0 ? 1 : slice_[outer].count;
  const std::int64_t part = std::min(along, std::max<std::int64_t>(1, room / items));
  Shape counts;
  for (std::size_t i = 0; i < outer; i++) counts.push_back(slice_[i].count);
  std::vector<std::uint8_t> out;
  for_each_index(counts, [&](const Shape& index) {
    Slice box = slice_;
    for (std::size_t i = 0; i < outer; i++) box[i] = part_of(slice_[i], index[i], 1);
    for (std::int64_t first = 0; first < along; first += part) {
      throw_if_interrupted();
      const std::int64_t count = std::min(part, along - first);
      if (whole > 0) box[outer] = part_of(slice_[outer], first, count);
      out.resize(static_cast<std::size_t>(count * items * elements_.itemsize()));
      read_box(box, out);
      use(out);
    }
  });
}

void SlicedItems::read_box(const Slice& box, codec::MutableBytes out) {
  if (box.empty())
    elements_.read(0, out);
  else if (elements_.input().info().has_blocked_array() && elements_.shape())
    read_blocks(box, out);
  else
    read_rows(box, out);
}

/// Reads each block once, even if its items are spread over the slice.
void SlicedItems::read_blocks(const Slice& box, codec::MutableBytes out) {
  const frame::ArrayInfo& array = *elements_.input().info().array;
  const std::int64_t itemsize = elements_.itemsize();
  const std::size_t axes = box.size();
  Shape chunks, blocks, block_extents(array.blockshape.begin(), array.blockshape.end());
  Shape counts, run_counts;
  std::vector<std::vector<Run>> runs;
  for (std::size_t i = 0; i < axes; i++) {
    const std::int64_t chunk = array.chunkshape[i], block = array.blockshape[i];
    chunks.push_back((array.shape[i] + chunk - 1) / chunk);
    blocks.push_back((chunk + block - 1) / block);
    runs.push_back(runs_of(box[i], chunk, block));
    run_counts.push_back(std::ssize(runs.back()));
    counts.push_back(box[i].count);
  }
  const Shape in_block = strides_of(block_extents, itemsize), in_out = strides_of(counts, itemsize);
  const std::int64_t block_size = in_block[0] * block_extents[0];
  std::vector<std::uint8_t> bytes;
  fs::Request request;
  for_each_index(run_counts, [&](const Shape& index) {
    throw_if_interrupted();
    // Bytes [low, high) of the block hold all its wanted items. The first of them in the order of
    // the slice is at `first` in the block, and at `target` in `out`.
    std::int64_t chunk = 0, block = 0, low = 0, high = itemsize, first = 0, target = 0;
    Shape extents;
    for (std::size_t i = 0; i < axes; i++) {
      const Run& run = runs[i][static_cast<std::size_t>(index[i])];
      const std::int64_t begin = run.in_block.start, end = last_of(run.in_block);
      chunk = chunk * chunks[i] + run.chunk;
      block = block * blocks[i] + run.block;
      low += std::min(begin, end) * in_block[i];
      high += std::max(begin, end) * in_block[i];
      first += run.in_block.start * in_block[i];
      target += run.first * in_out[i];
      extents.push_back(run.in_block.count);
    }
    bytes.resize(static_cast<std::size_t>(high - low));
    elements_.input().reader().visit_chunk(
        request, chunk, block * block_size + low, high - low,
        [&](const fs::BlockReader::Span& span, std::int64_t position) {
          span.copy(0, codec::MutableBytes(bytes).subspan(static_cast<std::size_t>(position),
                                                          static_cast<std::size_t>(span.size)));
        });
    const std::int64_t step = box.back().step;
    const std::int64_t run_items = step == 1 ? extents.back() : 1;
    if (step == 1) extents.back() = 1;
    for_each_index(extents, [&](const Shape& item) {
      std::int64_t from = first - low, to = target;
      for (std::size_t i = 0; i < axes; i++) {
        from += item[i] * box[i].step * in_block[i];
        to += item[i] * in_out[i];
      }
      std::copy_n(bytes.begin() + from, run_items * itemsize, out.begin() + to);
    });
  });
}

void SlicedItems::read_rows(const Slice& box, codec::MutableBytes out) {
  const Shape strides = strides_of(shape_of(elements_), 1);
  Shape counts;
  for (const AxisSlice& axis : box) counts.push_back(axis.count);
  const auto row = static_cast<std::size_t>(counts.back() * elements_.itemsize());
  counts.back() = 1;
  for_each_index(counts, [&](const Shape& index) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < box.size(); i++)
      first += (box[i].start + index[i] * box[i].step) * strides[i];
    read_row(first, box.back(), out.first(row));
    out = out.subspan(row);
  });
}

/// Reads one row of the slice. If its items are less than a block apart, also reads the bytes
/// between them.
void SlicedItems::read_row(std::int64_t first, const AxisSlice& axis, codec::MutableBytes out) {
  const std::int64_t itemsize = elements_.itemsize();
  if (axis.step == 1) return elements_.read(first * itemsize, out);
  const std::int64_t step = axis.count > 1 ? axis.step : 1;
  const std::int64_t apart = std::abs(step) * itemsize;
  const std::int64_t near = std::max<std::int64_t>(1, elements_.input().info().blocksize);
  const std::int64_t at_once = apart >= near ? 1 : std::max<std::int64_t>(1, kBytesAtOnce / apart);
  std::vector<std::uint8_t> bytes;
  for (std::int64_t done = 0; done < axis.count; done += at_once) {
    const std::int64_t count = std::min(at_once, axis.count - done);
    const std::int64_t begin = first + done * step, last = begin + (count - 1) * step;
    const std::int64_t low = std::min(begin, last);
    bytes.resize(static_cast<std::size_t>((std::max(begin, last) - low + 1) * itemsize));
    elements_.read(low * itemsize, bytes);
    for (std::int64_t i = 0; i < count; i++)
      std::copy_n(bytes.begin() + (begin + i * step - low) * itemsize, itemsize,
                  out.begin() + (done + i) * itemsize);
  }
}

}  // namespace bloscfs::tools
