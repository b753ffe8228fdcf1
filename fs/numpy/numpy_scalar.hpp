#pragma once
// NumPy's type strings and names for items that are not structured.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::fs {

/// NumPy's limits.
inline constexpr std::size_t kNumpyMaxDimensions = 32;
inline constexpr std::int64_t kNumpyMaxItemsize = std::numeric_limits<std::int32_t>::max();

struct NumpyScalar {
  std::int64_t itemsize;   ///< bytes, at most 2^31 - 1
  std::int64_t alignment;  ///< bytes, as C aligns it on x86-64
  std::string text;        ///< canonical: "<f8", "|S5", "<M8[25us]"
};

/// Parses "<f8", "f8", "d", "float64", "U5", "datetime64[ns]" and the like as np.dtype() of NumPy
/// 1.24 does on x86-64. Returns nullopt for what np.dtype() refuses, and for objects.
std::optional<NumpyScalar> parse_numpy_scalar(std::string_view text);

}  // namespace bloscfs::fs
