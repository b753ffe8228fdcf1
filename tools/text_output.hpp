#pragma once
// Items as lines of text.

#include <cstdint>

#include "tools/elements.hpp"
#include "tools/output_file.hpp"
#include "tools/sliced_items.hpp"

namespace bloscfs::tools {

/// Items [first, end) of a frame.
struct ItemRange {
  std::int64_t first, end;
};

/// Of an array the items along the last dimension are a line, of anything else each one is; a
/// record always is one. Throws Error(unsupported) where there is no text for its items,
/// Error(malformed) for what is behind the last whole item.
void write_text(Elements& elements, const ItemRange& range, OutputFile& out);
void write_text(SlicedItems& items, OutputFile& out);

/// CSV: records below the names of their fields, of other arrays the lines of write_text().
void write_csv(SlicedItems& items, OutputFile& out);

/// Records as a table for a terminal, other items as write_text() does.
void write_rows(SlicedItems& items, OutputFile& out);

}  // namespace bloscfs::tools
