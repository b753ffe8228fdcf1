#pragma once
// Chooses how to cut a new array into chunks and blocks, and calculates sizes of its parts. Pure.

#include <cstdint>
#include <vector>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

/// Returns the extents of the largest chunk (or block) of about `target` bytes, at least one item,
/// that is a run of whole rows. Trailing dimensions stay whole, one dimension is cut, and leading
/// ones are 1. So chunk after chunk holds the array's bytes in order. `extents` may be zero; those
/// of the result are at least 1. If `least` is above 1, every extent is at least `least`, or the
/// array's own extent if that is smaller. The result is then no run, and may exceed `target`.
std::vector<std::int32_t> choose_cut(const std::vector<std::int64_t>& extents,
                                     std::int64_t typesize, std::int64_t target,
                                     std::int64_t least = 1);

/// Also accepts an array in Fortran order. Then leading dimensions stay whole.
std::vector<std::int32_t> choose_cut(std::vector<std::int64_t> extents, std::int64_t typesize,
                                     std::int64_t target, std::int64_t least, bool fortran_order);

/// Returns the bytes of one step along the first dimension. Without dimensions, returns the bytes
/// of an item.
std::int64_t row_size(const ArrayInfo& array, std::int64_t typesize);

}  // namespace bloscfs::frame::inline array
