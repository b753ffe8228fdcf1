#include "frame/array/array_shapes.hpp"

#include <algorithm>

namespace bloscfs::frame::inline array {

std::vector<std::int32_t> choose_cut(const std::vector<std::int64_t>& extents,
                                     std::int64_t typesize, std::int64_t target,
                                     std::int64_t least) {
  std::vector<std::int32_t> cut;
  std::int64_t room = target / std::max<std::int64_t>(1, typesize);
  for (const std::int64_t extent : extents) {
    cut.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(extent, 1, least)));
    room /= cut.back();
  }
  for (std::size_t i = extents.size(); i-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, extents[i]);
    // The room along this axis, including the part that the minimum takes.
    room *= cut[i];
    if (room <= cut[i]) break;
    // Equal parts, so that the last one is not mostly padding.
    const std::int64_t parts = (extent + room - 1) / room;
    const std::int64_t part = std::max<std::int64_t>(cut[i], (extent + parts - 1) / parts);
    cut[i] = static_cast<std::int32_t>(part);
    if (parts > 1) break;
    room /= part;
  }
  return cut;
}

std::vector<std::int32_t> choose_cut(std::vector<std::int64_t> extents, std::int64_t typesize,
                                     std::int64_t target, std::int64_t least, bool fortran_order) {
  if (!fortran_order) return choose_cut(extents, typesize, target, least);
  std::reverse(extents.begin(), extents.end());
  std::vector<std::int32_t> cut = choose_cut(extents, typesize, target, least);
  std::reverse(cut.begin(), cut.end());
  return cut;
}

std::int64_t row_size(const ArrayInfo& array, std::int64_t typesize) {
  std::int64_t row = typesize;
  for (std::size_t i = 1; i < array.shape.size(); i++) row *= array.shape[i];
  return row;
}

}  // namespace bloscfs::frame::inline array
