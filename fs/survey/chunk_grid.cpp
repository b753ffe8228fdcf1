#include "fs/survey/chunk_grid.hpp"

#include <algorithm>

namespace bloscfs::fs {
namespace {

/// A grid of more dimensions cannot be drawn, so its chunks form a single line.
constexpr std::size_t kMaxGridDimensions = 3;

/// Returns the chunks along each dimension. Returns an empty result if these do not make
/// `chunk_count` chunks, because a damaged frame may contradict itself.
std::vector<ChunkGrid::Dimension> dimensions_of(const frame::ArrayInfo& array,
                                                std::int64_t chunk_count) {
  std::vector<ChunkGrid::Dimension> dimensions;
  std::int64_t rest = chunk_count;
  for (std::size_t i = 0; i < array.shape.size(); i++) {
    if (array.chunkshape.size() <= i || array.chunkshape[i] <= 0) return {};
    const std::int64_t chunks = codec::ceil_div(array.shape[i], std::int64_t{array.chunkshape[i]});
    if (chunks == 0 || rest % chunks != 0) return {};
    rest /= chunks;
    dimensions.push_back({chunks});
  }
  return rest == 1 ? dimensions : std::vector<ChunkGrid::Dimension>{};
}

}  // namespace

ChunkGrid::ChunkGrid(const frame::FrameInfo& info, std::int64_t max_cells) {
  if (info.has_blocked_array() && info.array->shape.size() <= kMaxGridDimensions)
    dimensions_ = dimensions_of(*info.array, info.nchunks);
  is_of_array_ = !dimensions_.empty();
  if (!is_of_array_) dimensions_.push_back({info.nchunks});
  while (cell_count() > max_cells) {
    const auto most = std::max_element(
        dimensions_.begin(), dimensions_.end(),
        [](const Dimension& a, const Dimension& b) { return a.cells() < b.cells(); });
    // Join neighbouring cells along the dimension with the most cells.
    most->width *= 2;
  }
}

std::int64_t ChunkGrid::cell_count() const {
  std::int64_t count = 1;
  for (const Dimension& dimension : dimensions_) count *= dimension.cells();
  return count;
}

std::vector<std::int64_t> ChunkGrid::place_of(std::int64_t chunk) const {
  std::vector<std::int64_t> place(dimensions_.size());
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    place[i] = chunk % dimensions_[i].chunks;
    chunk /= dimensions_[i].chunks;
  }
  return place;
}

std::int64_t ChunkGrid::cell_of(std::int64_t chunk) const {
  const std::vector<std::int64_t> place = place_of(chunk);
  std::int64_t cell = 0;
  for (std::size_t i = 0; i < place.size(); i++)
    cell = cell * dimensions_[i].cells() + place[i] / dimensions_[i].width;
  return cell;
}

std::vector<std::int64_t> ChunkGrid::cell_place(std::int64_t cell) const {
  std::vector<std::int64_t> place(dimensions_.size());
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    place[i] = cell % dimensions_[i].cells();
    cell /= dimensions_[i].cells();
  }
  return place;
}

std::int64_t ChunkGrid::chunks_of(std::int64_t cell) const {
  const std::vector<std::int64_t> place = cell_place(cell);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < place.size(); i++) {
    const Dimension& dimension = dimensions_[i];
    count *= std::min(dimension.width, dimension.chunks - place[i] * dimension.width);
  }
  return count;
}

std::int64_t ChunkGrid::first_chunk_of(std::int64_t cell) const {
  const std::vector<std::int64_t> place = cell_place(cell);
  std::int64_t chunk = 0;
  for (std::size_t i = 0; i < place.size(); i++)
    chunk = chunk * dimensions_[i].chunks + place[i] * dimensions_[i].width;
  return chunk;
}

}  // namespace bloscfs::fs
