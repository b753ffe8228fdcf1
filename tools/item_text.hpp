#pragma once
// Converts items of NumPy's types to text.

#include <functional>
#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

enum class TextStyle {
  csv,      ///< RFC 4180; booleans are True and False
  columns,  ///< separated by spaces, for numpy.loadtxt and awk; booleans are 1 and 0
};

/// Appends the text of an item, which has the size of the dtype. Throws Error: malformed if an item
/// is not a valid text, unsupported if a date is too far away.
using ItemText = std::function<void(codec::Bytes item, std::string& line)>;

/// Returns the conversion for `dtype`, which is in NumPy's own spelling (NumpyDtype::stored).
/// Floating-point numbers become the shortest text that reads back to the same number. Complex
/// numbers are like 1.0+2.0j, dates are in ISO 8601. Returns null for structured and untyped items.
ItemText item_text(const std::string& dtype, TextStyle style);

/// Appends a text as a field of CSV.
void append_csv(std::string_view text, std::string& line);

/// Appends a text so that numpy.loadtxt and awk read it as one field.
void append_columns(std::string_view text, std::string& line);

}  // namespace bloscfs::tools
