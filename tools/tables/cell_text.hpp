#pragma once
// Writes cells of a table as text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::tools {

enum class CellStyle : std::uint8_t {
  csv,   ///< like to_csv() of python-blosc2
  json,  ///< JSON without spaces
  text,  ///< separated by spaces, for numpy.loadtxt and awk
};

/// Appends a text, with quotes if the style needs them. Throws Error(malformed) if the text is not
/// UTF-8.
void append_text_cell(std::string_view text, CellStyle style, std::string& line);

/// Appends an absent value: null; in CSV nothing, or \N if `is_marked` is true.
void append_absent_cell(CellStyle style, std::string& line, bool is_marked = false);

/// Appends a text of a CSV column that has a mask of absent values. In such a column, to_csv()
/// writes \N for an absent value and \E for an empty text. It adds a backslash to texts that look
/// like these marks.
void append_marked_text(std::string_view text, std::string& line);

/// True for \N, \E, and these marks with more backslashes.
bool looks_marked(std::string_view text);

/// Returns the text of an unquoted CSV field of a column that has a mask of absent values; nullopt
/// for an absent value.
std::optional<std::string_view> unmarked_text(std::string_view field);

}  // namespace bloscfs::tools
