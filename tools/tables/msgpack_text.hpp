#pragma once
// Writes Python objects that are stored as msgpack.

#include <cstddef>
#include <string>

#include "codec/bytes.hpp"
#include "tools/tables/cell_text.hpp"

namespace bloscfs::tools {

/// Appends the value at `position` as a cell. CSV has the text of Python's str(). The other styles
/// have JSON with the marks of frame/formats/metalayers.md, "Objects". nil is an absent value.
/// Throws Error: malformed, unsupported if the style cannot express the value.
void append_msgpack_cell(codec::Bytes bytes, std::size_t position, CellStyle style,
                         std::string& line);

}  // namespace bloscfs::tools
