#pragma once
// Cells of a table as text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::tools {

enum class CellStyle : std::uint8_t {
  csv,   ///< as python-blosc2's to_csv() writes them
  json,  ///< JSON without blanks
  text,  ///< separated by blanks, as numpy.loadtxt and awk take them
};

/// A text: in quotes where the style needs them. Throws Error(malformed) for what is no UTF-8.
void append_text_cell(std::string_view text, CellStyle style, std::string& line);

/// A value that is absent: null, and in CSV nothing, or \N where `is_marked`.
void append_absent_cell(CellStyle style, std::string& line, bool is_marked = false);

/// A text of a CSV column whose absent values are kept in a mask: to_csv() writes \N for those, \E
/// for an empty text, and a backslash more before texts that look like one of these.
void append_marked_text(std::string_view text, std::string& line);

/// True for \N, \E, and these with more backslashes.
bool looks_marked(std::string_view text);

/// The text of a CSV field of such a column, which has no quotes; nothing for an absent value.
std::optional<std::string_view> unmarked_text(std::string_view field);

}  // namespace bloscfs::tools
