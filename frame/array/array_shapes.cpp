#include "frame/array/array_shapes.hpp"

#include <algorithm>

namespace bloscfs::frame::inline array {

std::vector<std::int32_t> choose_cut(const std::vector<std::int64_t>& extents,
                                     std::int64_t typesize, std::int64_t target) {
  std::vector<std::int32_t> cut(extents.size(), 1);
  std::int64_t room = std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, typesize));
  for (std::size_t i = extents.size(); i-- > 0 && room > 1;) {
    const std::int64_t extent = std::max<std::int64_t>(1, extents[i]);
    // Equal parts, so that the last one is not mostly padding.
    const std::int64_t parts = (extent + room - 1) / room;
    const std::int64_t part = (extent + parts - 1) / parts;
    cut[i] = static_cast<std::int32_t>(part);
    if (parts > 1) break;
    room /= part;
  }
  return cut;
}

std::int64_t row_size(const ArrayInfo& array, std::int64_t typesize) {
  std::int64_t row = typesize;
  for (std::size_t i = 1; i < array.shape.size(); i++) row *= array.shape[i];
  return row;
}

}  // namespace bloscfs::frame::inline array
