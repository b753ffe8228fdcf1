#pragma once
// Chooses how a new array is cut into chunks and blocks, and sizes of its parts. Pure.

#include <cstdint>
#include <vector>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

/// The largest chunk (or block of a chunk) of about `target` bytes, at least one item, that is a
/// run of whole rows where they fit: trailing dimensions stay whole, one is cut, and leading ones
/// are 1. So the array's bytes in order lie chunk after chunk. `extents` may be zero; the result's
/// are at least 1. With `least` above 1 all are at least that, as far as the extents are: then the
/// result is no run, and may have more bytes.
std::vector<std::int32_t> choose_cut(const std::vector<std::int64_t>& extents,
                                     std::int64_t typesize, std::int64_t target,
                                     std::int64_t least = 1);

/// The same for an array that may be in Fortran order: then leading dimensions stay whole.
std::vector<std::int32_t> choose_cut(std::vector<std::int64_t> extents, std::int64_t typesize,
                                     std::int64_t target, std::int64_t least, bool fortran_order);

/// Bytes that one step along the first dimension takes; those of an item without dimensions.
std::int64_t row_size(const ArrayInfo& array, std::int64_t typesize);

}  // namespace bloscfs::frame::inline array
