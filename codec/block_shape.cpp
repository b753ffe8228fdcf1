#include "codec/block_shape.hpp"

#include <algorithm>

#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

BlockShape::BlockShape(std::span<const std::int32_t> extents) {
  if (extents.size() > kMaxDimensions) return;
  std::copy(extents.begin(), extents.end(), extents_.begin());
  dimensions_ = extents.size();
}

std::int64_t BlockShape::block_size(std::int32_t typesize) const {
  std::int64_t size = typesize;
  for (const std::int32_t extent : extents()) {
    if (extent < 1 || size < 1 || size > kMaxBlocksize / extent) return 0;
    size *= extent;
  }
  return size > kMaxBlocksize ? 0 : size;
}

std::string BlockShape::problem(std::int32_t typesize, std::int64_t size) const {
  if (!is_known()) return "needs the shape of an array's blocks";
  if (size > 0 && block_size(typesize) == size) return {};
  std::string text;
  for (const std::int32_t extent : extents()) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return "a block of " + std::to_string(size) + " bytes is not " + text + " items of " +
         std::to_string(typesize);
}

}  // namespace bloscfs::codec
