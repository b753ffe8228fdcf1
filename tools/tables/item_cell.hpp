#pragma once
// Cells of the items of arrays.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "tools/tables/cell_text.hpp"
#include "tools/tables/table_schema.hpp"

namespace bloscfs::tools {

/// Appends the cell of one item. Throws Error: malformed where a text is none, unsupported for a
/// date that is too far away.
using ItemCell = std::function<void(codec::Bytes item, std::string& line)>;

/// `dtype` is NumPy's own spelling. Throws Error: malformed where a column of that kind has no such
/// items, unsupported for items that have no text.
ItemCell item_cell(const ColumnSchema& schema, const std::string& dtype, CellStyle style);

/// Of items that are arrays: nested lists, with NaN and infinities as Python's json has them in
/// CSV.
ItemCell array_item_cell(const std::string& dtype, std::int64_t itemsize,
                         std::vector<std::int64_t> shape, CellStyle style);

/// True for an item that equals the sentinel of the schema; of an array if each value of it does.
/// Null where the column has none. Throws Error(malformed) for a sentinel of another type.
using IsAbsent = std::function<bool(codec::Bytes item)>;
IsAbsent sentinel_test(const ColumnSchema& schema, const std::string& dtype, std::int64_t itemsize);

}  // namespace bloscfs::tools
