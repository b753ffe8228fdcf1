#pragma once
// NumPy's basic slicing on the command line: x.b2nd[10:12, 0, ::-1].

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::tools {

using Shape = std::vector<std::int64_t>;

struct NamedSlice {
  std::string file;
  std::string text;  ///< without the brackets
};

/// Splits an argument into the file and the brackets at its end. Returns nullopt if it has no
/// brackets, or if a file or a leaf of a store has the whole text as its name.
std::optional<NamedSlice> split_slice(const std::string& argument);

/// The indexes start, start + step, ... of an axis.
struct AxisSlice {
  std::int64_t start = 0, step = 1, count = 0;
  bool is_index = false;  ///< single index; the result lacks this axis
};

/// One AxisSlice for each axis.
using Slice = std::vector<AxisSlice>;

Slice whole_slice(const Shape& shape);
/// Parses a slice. Throws UsageError that names the axis and its size.
Slice parse_slice(std::string_view text, const Shape& shape);
/// Limits the first axis of the result to `count` rows.
void keep_first_rows(Slice& slice, std::int64_t count);
/// Returns the shape of the result.
Shape shape_of(const Slice& slice);

}  // namespace bloscfs::tools
