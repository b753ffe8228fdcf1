#include "fs/survey/array_slice.hpp"

#include <algorithm>

namespace bloscfs::fs {
namespace {

/// Returns the elements that a slice needs. Reads nothing.
std::vector<ElementSampler::Wanted> plan(const ElementSampler& sampler, const ArraySlice& slice,
                                         std::vector<std::int64_t> place,
                                         std::optional<std::size_t> channel_axis) {
  std::vector<ElementSampler::Wanted> wanted;
  for (std::int64_t row = 0; row < slice.rows.extent; row += slice.rows.step) {
    place[slice.rows.number] = row;
    for (std::int64_t column = 0; column < slice.columns.extent; column += slice.columns.step) {
      place[slice.columns.number] = column;
      for (std::int64_t channel = 0; channel < slice.channels; channel++) {
        if (channel_axis) place[*channel_axis] = channel;
        wanted.push_back({sampler.unit_of(place, slice.rows.number, slice.columns.number),
                          sampler.offset_of(place), wanted.size()});
      }
    }
  }
  return wanted;
}

std::int64_t count_units(std::vector<ElementSampler::Wanted> wanted) {
  std::sort(wanted.begin(), wanted.end());
  std::int64_t count = wanted.empty() ? 0 : 1;
  for (std::size_t i = 1; i < wanted.size(); i++)
    count += wanted[i].unit != wanted[i - 1].unit ? 1 : 0;
  return count;
}

}  // namespace

ArraySlice read_slice(Request& request, const ElementSampler& sampler, std::size_t row_axis,
                      std::size_t column_axis, const PictureLimits& limits,
                      std::optional<std::size_t> channel_axis) {
  const std::vector<std::int64_t>& shape = sampler.array().shape;
  ArraySlice slice;
  if (channel_axis) slice.channels = shape[*channel_axis];
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t i = 0; i < shape.size(); i++) {
    if (i == row_axis || i == column_axis || i == channel_axis) continue;
    place[i] = shape[i] / 2;
    slice.fixed.emplace_back(i, place[i]);
  }
  slice.rows = {row_axis, shape[row_axis], codec::ceil_div(shape[row_axis], limits.side)};
  slice.columns = {column_axis, shape[column_axis],
                   codec::ceil_div(shape[column_axis], limits.side)};
  auto wanted = plan(sampler, slice, place, channel_axis);
  while (wanted.size() > 1 && count_units(wanted) > limits.decoded / sampler.unit_size()) {
    // Enlarge the step of the axis with more elements, until few enough blocks are decoded.
    slice.is_coarse = true;
    ArraySlice::Axis& finer =
        slice.rows.count() > slice.columns.count() ? slice.rows : slice.columns;
    finer.step += std::max<std::int64_t>(1, finer.step / 2);
    wanted = plan(sampler, slice, place, channel_axis);
  }
  slice.values.resize(wanted.size());
  sampler.read(request, std::move(wanted),
               [&slice](std::size_t target, std::optional<double> value) {
                 slice.values[target] = value;
                 slice.range.add(value);
               });
  return slice;
}

bool is_in_colour(const frame::ArrayInfo& array) {
  const std::string dtype = array.dtype.value_or("");
  return array.shape.size() >= 3 && (array.shape.back() == 3 || array.shape.back() == 4) &&
         (dtype == "|u1" || dtype == "<u2" || dtype == ">u2");
}

std::vector<std::array<std::size_t, 2>> slice_axes(std::size_t dimensions) {
  const std::size_t last = dimensions - 1;
  if (dimensions == 2) return {{0, 1}};
  return {{last - 1, last}, {last - 2, last}, {last - 2, last - 1}};
}

}  // namespace bloscfs::fs
