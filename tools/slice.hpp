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

/// What an argument has before and in the brackets at its end; nothing where it has none, and where
/// a file, or a leaf of a store, has the whole text as its name.
std::optional<NamedSlice> split_slice(const std::string& argument);

/// Indexes start, start + step, ... of an axis.
struct AxisSlice {
  std::int64_t start = 0, step = 1, count = 0;
  bool is_index = false;  ///< a single index, whose axis the result does not have
};

/// One for each axis.
using Slice = std::vector<AxisSlice>;

Slice whole_slice(const Shape& shape);
/// Throws UsageError, which names the axis and its size.
Slice parse_slice(std::string_view text, const Shape& shape);
/// Leaves of the result's first axis at most `count` rows.
void keep_first_rows(Slice& slice, std::int64_t count);
/// The shape of the result.
Shape shape_of(const Slice& slice);

}  // namespace bloscfs::tools
