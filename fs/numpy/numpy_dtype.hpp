#pragma once
// NumPy's item types: checks the dtype that a frame stores, and writes it in NumPy's own spelling.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frame/python/python_literal.hpp"

namespace bloscfs::fs {

struct NumpyDtype {
  std::int64_t itemsize = 0;  ///< bytes, at most 2^31 - 1; may be 0
  /// Canonical spelling for frames, in UTF-8: <f8 or [('a', '<i4')], or {'names': ...} with gaps.
  std::string stored;
  std::string descr;  ///< what numpy.save of NumPy 1.24 writes: '<f8' or [('a', '<i4')]
};

/// Parses the dtype that a frame stores: a type string or name as np.dtype() takes it ("<f8",
/// "M8[ns]", "float64"), or the repr or str of a structured dtype. Returns nullopt if NumPy would
/// refuse it, or a NPY file cannot hold it (Python objects, overlapping fields). Also returns
/// nullopt for rare spellings (comma-separated lists, divisors of date units).
std::optional<NumpyDtype> parse_numpy_dtype(std::string_view stored);

/// Like parse_numpy_dtype(), for the descr of a NPY header: a string, or a list of fields. In such
/// a list, nameless fields of plain bytes are gaps.
std::optional<NumpyDtype> numpy_dtype_of_descr(const frame::PythonValue& descr);

}  // namespace bloscfs::fs
