#pragma once
// One column of a table, whatever it is stored as.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "tools/tables/cell_text.hpp"
#include "tools/tables/table_schema.hpp"

namespace bloscfs::tools {

/// For one thread. Rows are loaded in parts, from lower to higher ones, and counted with those that
/// were deleted. Errors of the frames are codec::Error and std::system_error without the column's
/// name, which the table adds.
class TableColumn {
 public:
  virtual ~TableColumn() = default;

  /// Loads up to `most` rows from `first` on, at least 1, and drops those loaded before. Of rows
  /// without a fixed size it loads about `size` bytes, or one row. Returns how many it loaded. A
  /// row that the column does not have counts as loaded: it may have been deleted, and only its
  /// cell cannot be had.
  virtual std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) = 0;
  /// Appends the cell of a row that is loaded.
  virtual void append_cell(std::int64_t row, std::string& line) const = 0;

  /// Bytes that the column keeps for the rows that are loaded.
  virtual std::size_t memory() const = 0;

  /// Bytes of a row where all have the same, else 0.
  virtual std::size_t row_size() const { return 0; }
  /// What the items of rows are stored as; null where they are no single values of an array.
  virtual const fs::NumpyDtype* item_dtype() const { return nullptr; }
  /// True where a row that is loaded has no value, if there is an item_dtype().
  virtual bool is_absent(std::int64_t /*row*/) const { return false; }
  /// The item of a row that is loaded, if there is an item_dtype().
  virtual codec::Bytes item(std::int64_t /*row*/) const { return {}; }
};

/// The frames that a column consists of, by what stands behind its own key: "", ".utf8", "_dict",
/// ".notnull". Null where there is none.
using OpenColumnPart =
    std::function<std::shared_ptr<const frame::Snapshot>(const std::string& suffix)>;

/// Throws Error(malformed) where the part is missing.
std::shared_ptr<const frame::Snapshot> required_part(const OpenColumnPart& open,
                                                     const std::string& suffix, const char* what);

/// The most bytes of one text.
inline constexpr std::size_t kMaxCell = std::size_t{16} << 20;

}  // namespace bloscfs::tools
