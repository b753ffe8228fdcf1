#pragma once
// Two-dimensional slices of an array as numbers, at most so many along each side.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fs/survey/element_sampler.hpp"
#include "fs/survey/value_range.hpp"

namespace bloscfs::fs {

/// What a picture of an array may cost.
struct PictureLimits {
  std::int64_t side = 384;                         ///< elements along each axis of a slice
  std::int64_t bins = 600;                         ///< of a line
  std::int64_t decoded = std::int64_t{256} << 20;  ///< bytes that are decoded for it
};

/// Elements in which two coordinates vary. They are every `step`th along each axis.
struct ArraySlice {
  struct Axis {
    std::size_t number = 0;  ///< of the array's dimensions
    std::int64_t extent = 0, step = 1;
    std::int64_t count() const { return codec::ceil_div(extent, step); }
  };
  Axis rows, columns;
  std::vector<std::pair<std::size_t, std::int64_t>> fixed;  ///< other axes, and where they are cut
  std::int64_t channels = 1;                  ///< values of a place, along an axis of their own
  std::vector<std::optional<double>> values;  ///< row after row; nothing where it is unreadable
  ValueRange range;
  bool is_coarse = false;  ///< fewer elements than a picture has room for, for the work's sake
};

/// The slice along two axes, through the middle of the others. It has all elements along
/// `channel_axis`, where that is given. The array has elements.
ArraySlice read_slice(Request& request, const ElementSampler& sampler, std::size_t row_axis,
                      std::size_t column_axis, const PictureLimits& limits,
                      std::optional<std::size_t> channel_axis = std::nullopt);

/// Whether an array looks like one or several pictures in colour: uint8 or uint16, with 3 or 4
/// values (red, green, blue and perhaps opacity) along the last of three or more axes.
bool is_in_colour(const frame::ArrayInfo& array);

/// The pairs of axes, (rows, columns), whose slices show an array of two or more dimensions: of
/// three and more, those of the last three.
std::vector<std::array<std::size_t, 2>> slice_axes(std::size_t dimensions);

}  // namespace bloscfs::fs
