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
  std::string stored;         ///< canonical spelling for frames: <f8 or [('a', '<i4')]; UTF-8
  std::string descr;          ///< what numpy.save of NumPy 1.24 writes: '<f8' or [('a', '<i4')]
};

/// Parses what a frame stores: a type string or name as np.dtype() takes it ("<f8", "M8[ns]",
/// "float64"), or the repr or str of a structured dtype. nullopt if NumPy would refuse it, if a
/// NPY file cannot hold it (Python objects, overlapping fields), and for rare spellings
/// (comma-separated lists, divisors of date units).
std::optional<NumpyDtype> parse_numpy_dtype(std::string_view stored);

/// The same for a parsed literal: a string, a list of fields, or a dict of names and formats.
std::optional<NumpyDtype> numpy_dtype_of(const frame::PythonValue& literal);

}  // namespace bloscfs::fs
