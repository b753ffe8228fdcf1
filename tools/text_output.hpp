#pragma once
// Writes items as lines of text.

#include "tools/elements.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {

/// Items [first, end), counted in C order.
struct ItemRange {
  std::int64_t first, end;
};

/// One item a line; of an array of several dimensions those along the last one, with blanks between
/// them. Items of a flat frame are unsigned integers unless they were given a dtype. Throws Error:
/// unsupported for items that have no text, malformed where `range` reaches the contents' end and
/// that is in the midst of an item.
void write_text(Elements& elements, const ItemRange& range, OutputFile& out);

}  // namespace bloscfs::tools
