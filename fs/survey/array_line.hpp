#pragma once
// Shows a one-dimensional array as a line: the ranges of its elements, part by part.

#include <cstdint>
#include <vector>

#include "fs/survey/array_slice.hpp"

namespace bloscfs::fs {

struct ArrayLine {
  struct Bin {
    std::int64_t first = 0;  ///< index of its first element
    ValueRange range;        ///< of the elements of the bin that were read
    double mean = 0;         ///< of the finite ones
  };
  std::vector<Bin> bins;
  ValueRange range;
  std::int64_t extent = 0;
  bool is_sample = false;  ///< not all elements were read
};

/// The array must have one dimension, and at least one element.
ArrayLine read_line(Request& request, const ElementSampler& sampler, const PictureLimits& limits);

}  // namespace bloscfs::fs
