#pragma once
// Items as lines of text.

#include <cstdint>
#include <string>
#include <vector>

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

/// Fields of records; all where none is named.
using FieldNames = std::vector<std::string>;

void write_text(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// CSV: records below the names of their fields, of other arrays the lines of write_text().
void write_csv(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// An object for each record.
void write_json(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// Records as a table for a terminal, other items as write_text() does.
void write_rows(SlicedItems& items, const FieldNames& names, OutputFile& out);

}  // namespace bloscfs::tools
