#pragma once
// A column of a table, independent of its storage.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "tools/tables/cell_text.hpp"
#include "tools/tables/table_schema.hpp"

namespace bloscfs::tools {

/// For one thread. The caller loads rows in parts, in ascending order. Rows are counted with
/// deleted ones. Throws codec::Error and std::system_error without the name of the column, which
/// Table adds.
class TableColumn {
 public:
  virtual ~TableColumn() = default;

  /// Loads up to `most` rows from `first` on, at least 1, and drops the rows loaded before. If rows
  /// have no fixed size, loads about `size` bytes, or one row. Returns how many rows it loaded. A
  /// row that the column does not have counts as loaded, because it may have been deleted. Only
  /// append_cell() fails for it.
  virtual std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) = 0;
  /// Appends the cell of a loaded row.
  virtual void append_cell(std::int64_t row, std::string& line) const = 0;

  /// Throws Error unless the column has all rows up to `last`, and the positions of their values
  /// are in its data. Checks only what the constructor has not checked. Drops the loaded rows.
  virtual void check_rows(std::int64_t /*last*/) {}

  /// Returns how many bytes the column keeps for the loaded rows.
  virtual std::size_t memory() const = 0;

  /// Returns the size of a row in bytes if all rows have the same size; else 0.
  virtual std::size_t row_size() const { return 0; }
  /// Returns the type of the stored items; null if they are not single values of an array.
  virtual const fs::NumpyDtype* item_dtype() const { return nullptr; }
  /// True if a loaded row has no value. Only if item_dtype() is not null.
  virtual bool is_absent(std::int64_t /*row*/) const { return false; }
  /// Returns the item of a loaded row. Only if item_dtype() is not null.
  virtual codec::Bytes item(std::int64_t /*row*/) const { return {}; }
};

/// Opens a frame of a column by the suffix of its key: "", ".utf8", "_dict", ".notnull". Returns
/// null if it does not exist.
using OpenColumnPart =
    std::function<std::shared_ptr<const frame::Snapshot>(const std::string& suffix)>;

/// Opens a part of a column. Throws Error(malformed) if it is missing.
std::shared_ptr<const frame::Snapshot> required_part(const OpenColumnPart& open,
                                                     const std::string& suffix, const char* what);

/// Most bytes of one text.
inline constexpr std::size_t kMaxCell = std::size_t{16} << 20;

}  // namespace bloscfs::tools
