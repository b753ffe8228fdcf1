#pragma once
// Reads tables of python-blosc2 in stores (frame/formats/stores.md, "Tables"), row by row.

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

/// The wanted part of a table.
struct TableSelection {
  std::vector<std::string> columns;  ///< empty: all
  RowRange rows;
};

/// True if a group of a store is a table.
bool is_table(const frame::PythonStore& store, const std::string& group);

/// Reads the schema of a table. Does not open the columns. Throws std::system_error(EISDIR) if the
/// group is not a table, and Error.
TableSchema table_schema(const frame::PythonStore& store, const std::string& group);

/// For one thread. Keeps about 8 MiB of rows of a fixed size in memory. Keeps about as much of all
/// other columns together, or one value of each. Both together are at most 96 MiB. Values without a
/// fixed size are charged to the memory budget of `limits`.
class Table {
 public:
  /// `limits` must outlive the object. Throws std::system_error(EISDIR) if the group is not a
  /// table, UsageError for an unknown column, and Error: malformed, unsupported, too_large.
  Table(const frame::PythonStore& store, const std::string& group, const TableSelection& selection,
        CellStyle style, RunLimits& limits);

  /// Returns the schemas of the wanted columns.
  const std::vector<ColumnSchema>& schemas() const { return schemas_; }
  /// Returns the names of all columns that are computed from others. Table leaves them out.
  const std::vector<std::string>& computed() const { return computed_; }
  /// Returns the number of rows including deleted ones.
  std::int64_t stored_rows() const { return live_->stored_rows(); }
  /// Returns the number of wanted rows, independently of next_row().
  std::int64_t count_wanted_rows() const;
  /// Goes to the next row. Returns false behind the last row.
  bool next_row();
  /// Returns the number of the row, counted including deleted ones.
  std::int64_t stored_row() const { return row_; }
  /// Throws Error unless all columns have the rows up to `last`, counted including deleted ones.
  /// next_row() must not be called afterwards.
  void check_rows(std::int64_t last);
  /// Appends a cell of the row.
  void append_cell(std::size_t column, std::string& line) const;

  /// Returns the dtype of a column for a NPY file. Throws Error(unsupported) if a NPY file cannot
  /// hold the column.
  std::string npy_dtype(std::size_t column) const;
  /// Returns the type of the stored items of a column; null if it is not an array with one value a
  /// row.
  const fs::NumpyDtype* item_dtype(std::size_t column) const {
    return columns_[column]->item_dtype();
  }
  /// True if the row has no value in a column that has an item_dtype(). Not for the style CSV, in
  /// which sentinels are values.
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
  /// Columns without a fixed row size come first, because they may load fewer rows than asked for.
  std::vector<std::size_t> load_order_;
  std::int64_t rows_at_once_ = 1;
  std::size_t size_at_once_ = 0;  ///< bytes to load for each column without a fixed row size
  std::int64_t row_ = -1;
  std::int64_t loaded_end_ = 0;
};

/// A table, or a column of it, that cannot be opened.
struct TableProblem {
  std::string group;
  std::string reason;  ///< begins with the name of the column, if it is one column
};
/// Checks that all columns of all tables at and below a group fit their table. Reads the offsets of
/// texts, but no other values. Leaves out columns of kinds that are not supported, and errors of
/// the disk.
std::vector<TableProblem> table_problems(const frame::PythonStore& store, const std::string& group,
                                         RunLimits& limits);

struct ColumnAddress {
  std::string group;  ///< the table
  std::string name;
};

/// Returns the column whose values a leaf holds; nullopt for other leaves. Throws what
/// table_schema() throws.
std::optional<ColumnAddress> find_column(const frame::PythonStore& store, const std::string& key);

/// Returns the number of rows in `rows`.
std::int64_t count_rows(const frame::PythonStore& store, const std::string& group,
                        const RowRange& rows, RunLimits& limits);

}  // namespace bloscfs::tools
