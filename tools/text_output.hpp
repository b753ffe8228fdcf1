#pragma once
// Writes items as lines of text.

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

/// Writes items as text. In an array, the items along the last dimension form a line. A record is
/// always a line of its own, and so is each item of other contents. Throws Error(unsupported) if
/// the items have no text form, Error(malformed) if the contents end with part of an item.
void write_text(Elements& elements, const ItemRange& range, OutputFile& out);

/// Throws Error(malformed): the flat frame ends with part of an item, which was not written.
[[noreturn]] void refuse_incomplete_item(const Elements& elements);

/// Names of fields of records; empty means all fields.
using FieldNames = std::vector<std::string>;

/// Writes the items of a slice as text, of records only the named fields.
void write_text(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// Writes CSV. For records, the first line has the names of the fields. For other arrays, the items
/// along the last dimension form a line.
void write_csv(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// Writes a JSON object for each record.
void write_json(SlicedItems& items, const FieldNames& names, OutputFile& out);

/// Writes records as a table for a terminal. Writes other items as lines of text, as write_text()
/// does.
void write_rows(SlicedItems& items, const FieldNames& names, OutputFile& out);

}  // namespace bloscfs::tools
