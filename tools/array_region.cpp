#include "tools/array_region.hpp"

#include <algorithm>
#include <utility>

#include "frame/array/array_cutter.hpp"

namespace bloscfs::tools {
namespace {

using Index = std::vector<std::int64_t>;

/// Calls `use` for each index from `first` up to and including `last`, in C order.
template <typename Use>
void for_each_index(const Index& first, const Index& last, Use use) {
  Index index = first;
  for (;;) {
    use(index);
    std::size_t i = index.size();
    for (; i > 0; i--) {
      if (++index[i - 1] <= last[i - 1]) break;
      index[i - 1] = first[i - 1];
    }
    if (i == 0) return;
  }
}

/// Returns the position of an index in C order, in a grid of shape `along`.
std::int64_t place_of(const Index& index, const Index& along) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); i++) place = place * along[i] + index[i];
  return place;
}

/// Returns the bytes from one index to the next along each dimension.
Index strides_of(const Index& extents, std::int64_t itemsize) {
  Index strides(extents.size());
  std::int64_t stride = itemsize;
  for (std::size_t i = extents.size(); i-- > 0; stride *= extents[i]) strides[i] = stride;
  return strides;
}

std::int64_t distance(const Index& from, const Index& to, const Index& strides) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < from.size(); i++) bytes += (to[i] - from[i]) * strides[i];
  return bytes;
}

/// How an array is divided into chunks, and chunks into blocks.
struct Cuts {
  explicit Cuts(const frame::ArrayInfo& array, std::int64_t itemsize)
      : chunk(array.chunkshape.begin(), array.chunkshape.end()),
        block(array.blockshape.begin(), array.blockshape.end()),
        block_strides(strides_of(block, itemsize)),
        block_size(itemsize) {
    for (std::size_t i = 0; i < chunk.size(); i++) {
      chunks_along.push_back((array.shape[i] + chunk[i] - 1) / chunk[i]);
      blocks_along.push_back((chunk[i] + block[i] - 1) / block[i]);
      block_size *= block[i];
    }
  }
  Index chunk, block, chunks_along, blocks_along, block_strides;
  std::int64_t block_size;  ///< bytes
};

/// A box of indexes. `last` is included.
struct Part {
  Index begin, last;
};
/// Returns the part of a box that lies in one piece, which is a chunk or a block. The piece begins
/// at `origin` and has the shape `extent`.
Part part_in(const Index& begin, const Index& last, const Index& origin, const Index& extent) {
  Part part{begin, last};
  for (std::size_t i = 0; i < begin.size(); i++) {
    part.begin[i] = std::max(begin[i], origin[i]);
    part.last[i] = std::min(last[i], origin[i] + extent[i] - 1);
  }
  return part;
}

/// Returns the indexes of the chunks or blocks (pieces) that a part of the array lies in. Pieces
/// have the shape `extent` and are counted from `origin`.
Part pieces_of(const Part& part, const Index& origin, const Index& extent) {
  Part pieces = part;
  for (std::size_t i = 0; i < origin.size(); i++) {
    pieces.begin[i] = (part.begin[i] - origin[i]) / extent[i];
    pieces.last[i] = (part.last[i] - origin[i]) / extent[i];
  }
  return pieces;
}

/// Returns where the piece with this index begins. `base` is where the first piece begins.
Index origin_of(const Index& index, const Index& extent, const Index& base) {
  Index origin = base;
  for (std::size_t i = 0; i < index.size(); i++) origin[i] += index[i] * extent[i];
  return origin;
}

}  // namespace

ArrayRegions::ArrayRegions(Elements& elements, const frame::ArrayInfo& target)
    : elements_(elements), target_(target), strides_(target.shape.size()) {
  std::int64_t stride = elements.itemsize();
  for (std::size_t i = target.shape.size(); i-- > 0;) {
    strides_[i] = stride;
    stride *= target.shape[i];
    chunk_count_ *= (target.shape[i] + target.chunkshape[i] - 1) / target.chunkshape[i];
  }
}

ArrayRegions::Box ArrayRegions::box_of(std::int64_t chunk) const {
  const std::size_t dimensions = target_.shape.size();
  Box box{std::vector<std::int64_t>(dimensions), std::vector<std::int64_t>(dimensions)};
  for (std::size_t i = dimensions; i-- > 0;) {
    const std::int64_t extent = target_.chunkshape[i];
    const std::int64_t along = (target_.shape[i] + extent - 1) / extent;
    box.start[i] = chunk % along * extent;
    box.extent[i] = std::min(extent, target_.shape[i] - box.start[i]);
    chunk /= along;
  }
  return box;
}

template <typename Use>
void ArrayRegions::for_each_run(const Box& box, Use use) const {
  // After the loop, the box spans the array in all dimensions behind `cut`. So `run` bytes are
  // contiguous.
  std::size_t cut = box.start.size();
  std::int64_t run = elements_.itemsize();
  while (cut > 0) {
    cut--;
    run *= box.extent[cut];
    if (box.extent[cut] != target_.shape[cut]) break;
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < box.start.size(); i++) offset += box.start[i] * strides_[i];
  std::vector<std::int64_t> at(cut);
  for (;;) {
    use(offset, run);
    std::size_t i = cut;
    for (; i > 0; i--) {
      offset += strides_[i - 1];
      if (++at[i - 1] < box.extent[i - 1]) break;
      offset -= strides_[i - 1] * at[i - 1];
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

void ArrayRegions::read_chunk(std::int64_t chunk, codec::MutableBytes contents) const {
  Box box = box_of(chunk);
  std::int64_t size = elements_.itemsize();
  for (const std::int64_t extent : box.extent) size *= extent;
  std::vector<std::uint8_t> part(static_cast<std::size_t>(size));
  if (elements_.input().info().has_blocked_array() && !box.start.empty())
    read_blocks(box, part);
  else
    read_runs(box, part);
  // Cuts `part` into blocks as if it were a whole array that consists of one chunk.
  // Elements::read() has returned it in C order.
  frame::ArrayInfo alone = target_;
  alone.fortran_order = false;
  alone.shape = std::move(box.extent);
  frame::ArrayCutter(alone, static_cast<std::int32_t>(elements_.itemsize())).cut(0, part, contents);
}

void ArrayRegions::read_runs(const Box& box, codec::MutableBytes out) const {
  for_each_run(box, [&](std::int64_t offset, std::int64_t length) {
    const auto count = static_cast<std::size_t>(length);
    elements_.read(offset, out.first(count));
    out = out.subspan(count);
  });
}

/// Fetches each block of the array once, even if the box has many small runs in it.
void ArrayRegions::read_blocks(const Box& box, codec::MutableBytes out) const {
  fs::Request request;
  const std::int64_t itemsize = elements_.itemsize();
  const Cuts cuts(*elements_.input().info().array, itemsize);
  const Index zero(box.start.size(), 0);
  const Index out_strides = strides_of(box.extent, itemsize);
  Part whole{box.start, box.start};
  for (std::size_t i = 0; i < zero.size(); i++) whole.last[i] += box.extent[i] - 1;
  std::vector<std::uint8_t> bytes;
  // Copies a part of one block, which begins at `offset` in its chunk, to `out`, row by row.
  const auto copy_block = [&](std::int64_t chunk, std::int64_t offset, const Index& origin,
                              const Part& part) {
    const std::int64_t first = distance(origin, part.begin, cuts.block_strides);
    const std::int64_t size = distance(part.begin, part.last, cuts.block_strides) + itemsize;
    bytes.resize(static_cast<std::size_t>(size));
    elements_.input().reader().visit_chunk(
        request, chunk, offset + first, size,
        [&](const fs::BlockReader::Span& span, std::int64_t position) {
          span.copy(0, codec::MutableBytes(bytes).subspan(static_cast<std::size_t>(position),
                                                          static_cast<std::size_t>(span.size)));
        });
    const std::int64_t run = (part.last.back() - part.begin.back() + 1) * itemsize;
    Index last_row = part.last;
    last_row.back() = part.begin.back();
    for_each_index(part.begin, last_row, [&](const Index& row) {
      std::copy_n(bytes.begin() + distance(part.begin, row, cuts.block_strides), run,
                  out.begin() + distance(box.start, row, out_strides));
    });
  };
  const Part chunks = pieces_of(whole, zero, cuts.chunk);
  for_each_index(chunks.begin, chunks.last, [&](const Index& chunk) {
    const Index origin = origin_of(chunk, cuts.chunk, zero);
    const Part in_chunk = part_in(whole.begin, whole.last, origin, cuts.chunk);
    const Part blocks = pieces_of(in_chunk, origin, cuts.block);
    for_each_index(blocks.begin, blocks.last, [&](const Index& block) {
      const Index block_origin = origin_of(block, cuts.block, origin);
      copy_block(place_of(chunk, cuts.chunks_along),
                 place_of(block, cuts.blocks_along) * cuts.block_size, block_origin,
                 part_in(in_chunk.begin, in_chunk.last, block_origin, cuts.block));
    });
  });
}

bool ArrayRegions::is_hole(std::int64_t chunk) const {
  // The runs have offsets in C order, but seek_data() takes those of the stored order.
  if (elements_.is_fortran()) return false;
  fs::Request request;
  bool is_hole = true;
  std::int64_t hole_end = 0;
  for_each_run(box_of(chunk), [&](std::int64_t offset, std::int64_t length) {
    if (!is_hole || offset + length <= hole_end) return;
    hole_end = elements_.view().seek_data(request, offset).value_or(elements_.nbytes());
    is_hole = hole_end >= offset + length;
  });
  return is_hole;
}

}  // namespace bloscfs::tools
