#pragma once
// Python's objects that are stored as msgpack, as text.

#include <cstddef>
#include <string>

#include "codec/bytes.hpp"
#include "tools/tables/cell_text.hpp"

namespace bloscfs::tools {

/// Appends the value at `position` as a cell. In CSV it is what Python's str() gives, else JSON
/// with the marks of frame/formats/metalayers.md, "Objects". An absent value is nil. Throws Error:
/// malformed, unsupported for what the style cannot express.
void append_msgpack_cell(codec::Bytes bytes, std::size_t position, CellStyle style,
                         std::string& line);

}  // namespace bloscfs::tools
