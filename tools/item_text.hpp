#pragma once
// Items of NumPy's types as text.

#include <functional>
#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

enum class TextStyle {
  csv,      ///< RFC 4180; booleans are True and False
  columns,  ///< separated by blanks, as numpy.loadtxt and awk take them; booleans are 1 and 0
};

/// Appends the text of an item, which has the dtype's size. Throws Error: malformed where a text is
/// none, unsupported for a date that is too far away.
using ItemText = std::function<void(codec::Bytes item, std::string& line)>;

/// `dtype` is NumPy's own spelling (NumpyDtype::stored). Floating-point numbers are the shortest
/// text that reads back, complex ones 1.0+2.0j, dates as ISO 8601 has them. Null for structured and
/// untyped items.
ItemText item_text(const std::string& dtype, TextStyle style);

/// Appends a text as a field of CSV.
void append_csv(std::string_view text, std::string& line);

/// Appends a text as numpy.loadtxt and awk take it.
void append_columns(std::string_view text, std::string& line);

}  // namespace bloscfs::tools
