#pragma once
// Two-dimensional slices of an array as numbers, with a limited number of elements along each side.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fs/survey/element_sampler.hpp"
#include "fs/survey/value_range.hpp"

namespace bloscfs::fs {

/// Limits the work for a picture of an array.
struct PictureLimits {
  std::int64_t side = 384;                         ///< elements along each axis of a slice
  std::int64_t bins = 600;                         ///< of a line
  std::int64_t decoded = std::int64_t{256} << 20;  ///< bytes that are decoded
};

/// The elements of a plane through the array: every `step`th one along each of two axes.
struct ArraySlice {
  struct Axis {
    std::size_t number = 0;  ///< index of the array's dimension
    std::int64_t extent = 0, step = 1;
    std::int64_t count() const { return codec::ceil_div(extent, step); }
  };
  Axis rows, columns;
  std::vector<std::pair<std::size_t, std::int64_t>> fixed;  ///< other axes, and their cut index
  std::int64_t channels = 1;                  ///< values at each place, along an axis of their own
  std::vector<std::optional<double>> values;  ///< row after row; nullopt if unreadable
  ValueRange range;
  bool is_coarse = false;  ///< has fewer elements than a picture has room for, to limit the work
};

/// Reads the slice along two axes, through the middle of the other axes. The slice has all elements
/// along `channel_axis`, if that is given. The array must have elements.
ArraySlice read_slice(Request& request, const ElementSampler& sampler, std::size_t row_axis,
                      std::size_t column_axis, const PictureLimits& limits,
                      std::optional<std::size_t> channel_axis = std::nullopt);

/// True if the array looks like one or several colour pictures: uint8 or uint16, with 3 or 4 values
/// (red, green, blue and perhaps opacity) along the last of three or more axes.
bool is_in_colour(const frame::ArrayInfo& array);

/// Returns the pairs of axes (rows, columns) whose slices show an array of two or more dimensions.
/// With three or more dimensions, these are pairs of the last three axes.
std::vector<std::array<std::size_t, 2>> slice_axes(std::size_t dimensions);

}  // namespace bloscfs::fs
