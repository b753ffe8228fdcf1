#include "tools/array_region.hpp"

#include <algorithm>
#include <utility>

#include "frame/array/array_cutter.hpp"

namespace bloscfs::tools {

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
  // Dimensions behind this one are whole.
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
  codec::MutableBytes rest = part;
  for_each_run(box, [&](std::int64_t offset, std::int64_t length) {
    const auto count = static_cast<std::size_t>(length);
    elements_.read(offset, rest.first(count));
    rest = rest.subspan(count);
  });
  // What the chunk has of the array is the whole of an array of one chunk.
  frame::ArrayInfo alone = target_;
  alone.shape = std::move(box.extent);
  frame::ArrayCutter(alone, static_cast<std::int32_t>(elements_.itemsize())).cut(0, part, contents);
}

bool ArrayRegions::is_hole(std::int64_t chunk) const {
  if (elements_.is_fortran()) return false;
  bool is_hole = true;
  std::int64_t hole_end = 0;
  for_each_run(box_of(chunk), [&](std::int64_t offset, std::int64_t length) {
    if (!is_hole || offset + length <= hole_end) return;
    hole_end = elements_.view().seek_data(offset).value_or(elements_.nbytes());
    is_hole = hole_end >= offset + length;
  });
  return is_hole;
}

}  // namespace bloscfs::tools
