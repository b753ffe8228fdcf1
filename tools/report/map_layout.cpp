#include "tools/report/map_layout.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

namespace bloscfs::tools {
namespace {

/// Limits for the cells in a row, if the rows have no meaning.
constexpr std::int64_t kMostInRow = 64, kLeastInRow = 24;
/// The most pleasant ratio of width to height.
constexpr double kAspect = 2.4;

}  // namespace

MapLayout::MapLayout(const fs::ChunkGrid& grid) {
  struct Axis {
    std::size_t number;
    std::int64_t cells;
  };
  // The axes with more than one chunk. Only these need a direction in the picture.
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < grid.dimensions().size(); i++)
    if (grid.dimensions()[i].chunks > 1) axes.push_back({i, grid.dimensions()[i].cells()});
  if (axes.size() < 2) {
    set_sequence(axes.empty() ? 1 : axes[0].cells);
    return;
  }
  is_sequence_ = false;
  width_ = axes.back().cells;
  height_ = axes[axes.size() - 2].cells;
  explanation_ = fmt::format("Rows go along axis {}, columns along axis {}.",
                             axes[axes.size() - 2].number, axes.back().number);
  if (axes.size() == 2) {
    columns_ = width_;
    rows_ = height_;
    return;
  }
  set_panels(axes[0].cells);
  explanation_ +=
      fmt::format(" Panels, from left to right and then down, go along axis {}.", axes[0].number);
}

void MapLayout::set_sequence(std::int64_t count) {
  const auto even = static_cast<std::int64_t>(std::sqrt(kAspect * static_cast<double>(count)));
  width_ = columns_ = std::min(count, std::clamp(even, kLeastInRow, kMostInRow));
  rows_ = codec::ceil_div(count, columns_);
  explanation_ = "Chunks follow each other from left to right, and then down.";
}

/// Chooses how many panels stand next to each other. The picture should have about the aspect
/// kAspect, and few empty places. One cell of space separates panels.
void MapLayout::set_panels(std::int64_t count) {
  double best = -1;
  for (std::int64_t along = 1; along <= count; along++) {
    const std::int64_t columns = along * (width_ + 1) - 1;
    const std::int64_t panel_rows = codec::ceil_div(count, along);
    const std::int64_t rows = panel_rows * (height_ + 1) - 1;
    const double empty = 1 - static_cast<double>(count) / static_cast<double>(panel_rows * along);
    const double off =
        std::abs(std::log(static_cast<double>(columns) / static_cast<double>(rows) / kAspect)) +
        empty;
    if (best >= 0 && off >= best) continue;
    best = off;
    panels_along_ = along;
    columns_ = columns;
    rows_ = rows;
  }
}

MapLayout::Position MapLayout::position(std::int64_t cell) const {
  if (is_sequence_) return {cell % width_, cell / width_};
  const std::int64_t panel = cell / (width_ * height_), inside = cell % (width_ * height_);
  return {panel % panels_along_ * (width_ + 1) + inside % width_,
          panel / panels_along_ * (height_ + 1) + inside / width_};
}

}  // namespace bloscfs::tools
