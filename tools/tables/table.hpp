#pragma once
// Tables that python-blosc2 keeps in stores (frame/formats/stores.md, "Tables"), row by row.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/pystore/python_store.hpp"
#include "tools/run_limits.hpp"
#include "tools/tables/live_rows.hpp"
#include "tools/tables/table_column.hpp"
#include "tools/tables/table_schema.hpp"

namespace bloscfs::tools {

/// What is wanted of a table.
struct TableSelection {
  std::vector<std::string> columns;  ///< none: all
  RowRange rows;
};

/// True if a group of a store is a table.
bool is_table(const frame::PythonStore& store, const std::string& group);

/// The schema of the table, whatever its columns are stored as. Throws as Table.
TableSchema table_schema(const frame::PythonStore& store, const std::string& group);

/// For one thread. Takes the memory of about 8 MiB of rows of a fixed size, and of about as
/// much, or one value each, of the other columns, 96 MiB together. That of values is charged to the
/// budget.
class Table {
 public:
  /// `limits` outlives it. Throws std::system_error(EISDIR) where the group is no table; UsageError
  /// for a column that it has not; Error, which names the column: malformed, or unsupported.
  Table(const frame::PythonStore& store, const std::string& group, const TableSelection& selection,
        CellStyle style, RunLimits& limits);

  /// Of those that are wanted.
  const std::vector<ColumnSchema>& schemas() const { return schemas_; }
  /// Names of all columns that are computed from others, and left out.
  const std::vector<std::string>& computed() const { return computed_; }
  /// With deleted ones.
  std::int64_t stored_rows() const { return live_->stored_rows(); }
  /// How many rows are wanted, whichever of them next_row() has passed.
  std::int64_t count_wanted_rows() const;
  /// Goes to the next row. False behind the last one.
  bool next_row();
  /// The row's number, counted with deleted ones.
  std::int64_t stored_row() const { return row_; }
  /// Appends a cell of the row.
  void append_cell(std::size_t column, std::string& line) const;

  /// Throws Error(unsupported) for a column whose items no NPY file can have.
  std::string npy_dtype(std::size_t column) const;
  /// What the items of a column are stored as; null where it is no array of one value a row.
  const fs::NumpyDtype* item_dtype(std::size_t column) const {
    return columns_[column]->item_dtype();
  }
  /// True where the row has no value in a column that has an item_dtype(). The table has another
  /// style than CSV, in which sentinels are values.
  bool is_absent(std::size_t column) const { return columns_[column]->is_absent(row_); }
  codec::Bytes item(std::size_t column) const { return columns_[column]->item(row_); }

 private:
  void load_rows();

  std::vector<ColumnSchema> schemas_;
  std::vector<std::string> computed_;
  RunLimits& limits_;
  const RowRange rows_;
  std::shared_ptr<const frame::Snapshot> valid_rows_;
  std::unique_ptr<LiveRows> live_;
  std::vector<std::unique_ptr<TableColumn>> columns_;
  std::vector<std::size_t> load_order_;  ///< columns whose rows have no fixed size first
  std::int64_t rows_at_once_ = 1;
  std::size_t size_at_once_ = 0;  ///< of each column whose rows have no fixed size
  std::int64_t row_ = -1;
  std::int64_t loaded_end_ = 0;
};

struct ColumnAddress {
  std::string group;  ///< the table
  std::string name;
};

/// The column whose values the leaf has; nothing for other leaves. Throws as table_schema().
std::optional<ColumnAddress> find_column(const frame::PythonStore& store, const std::string& key);

/// How many rows the selection has.
std::int64_t count_rows(const frame::PythonStore& store, const std::string& group,
                        const RowRange& rows, RunLimits& limits);

}  // namespace bloscfs::tools
