#pragma once
// NumPy's item types: what frames store as dtype, checked and in NumPy's own spelling.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frame/python/python_literal.hpp"

namespace bloscfs::fs {

struct NumpyDtype {
  std::int64_t itemsize = 0;  ///< bytes, at most 2^31 - 1; may be 0
  /// Canonical spelling for frames: <f8 or [('a', '<i4')], with gaps {'names': ...}; UTF-8.
  std::string stored;
  std::string descr;  ///< what numpy.save of NumPy 1.24 writes: '<f8' or [('a', '<i4')]
};

/// Parses what a frame stores: a type string or name as np.dtype() takes it ("<f8", "M8[ns]",
/// "float64"), or the repr or str of a structured dtype. nullopt if NumPy would refuse it, if a
/// NPY file cannot hold it (Python objects, overlapping fields), and for rare spellings
/// (comma-separated lists, divisors of date units).
std::optional<NumpyDtype> parse_numpy_dtype(std::string_view stored);

/// The same for the descr of a NPY header: a string, or a list of fields, of which nameless ones of
/// plain bytes are gaps.
std::optional<NumpyDtype> numpy_dtype_of_descr(const frame::PythonValue& descr);

}  // namespace bloscfs::fs
