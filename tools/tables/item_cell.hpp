#pragma once
// Writes items of arrays as cells.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "tools/tables/cell_text.hpp"
#include "tools/tables/table_schema.hpp"

namespace bloscfs::tools {

/// Appends the cell of one item. Throws Error: malformed if the item is not a valid text,
/// unsupported if a date is too far away.
using ItemCell = std::function<void(codec::Bytes item, std::string& line)>;

/// Returns the writer for the items of a column. `dtype` is in NumPy's own spelling. Throws Error:
/// malformed if a column of that kind cannot have such items, unsupported if they have no text
/// form.
ItemCell item_cell(const ColumnSchema& schema, const std::string& dtype, CellStyle style);

/// Returns the writer for items that are arrays. They become nested lists. In CSV, NaN and
/// infinities are written as Python's json does: NaN, Infinity, -Infinity.
ItemCell array_item_cell(const std::string& dtype, std::int64_t itemsize,
                         std::vector<std::int64_t> shape, CellStyle style);

/// Returns a test that is true if an item equals the sentinel of the schema. In an
/// array, every value must be the sentinel. Returns null if the column has no sentinel. Throws
/// Error(malformed) if the sentinel has another type.
using IsAbsent = std::function<bool(codec::Bytes item)>;
IsAbsent sentinel_test(const ColumnSchema& schema, const std::string& dtype, std::int64_t itemsize);

}  // namespace bloscfs::tools
