#pragma once
// NumPy's type strings and names for items that are not structured.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::fs {

struct NumpyScalar {
  std::int64_t itemsize;   ///< bytes, at most 2^31 - 1
  std::int64_t alignment;  ///< bytes, as C aligns it on x86-64
  std::string text;        ///< canonical: "<f8", "|S5", "<M8[25us]"
};

/// Parses "<f8", "f8", "d", "float64", "U5", "datetime64[ns]" and the like as np.dtype() of
/// NumPy 1.24 does on x86-64. nullopt for what it refuses, objects included.
std::optional<NumpyScalar> parse_numpy_scalar(std::string_view text);

}  // namespace bloscfs::fs
