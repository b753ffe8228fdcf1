#pragma once
// Tables that python-blosc2 keeps in stores (frame/formats/stores.md, "Tables"): columns and the
// rows that are not deleted.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/pystore/python_store.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "fs/view/file_view.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// An array of one dimension, read row by row.
class Column {
 public:
  /// Throws Error: malformed where the leaf is no such array, unsupported for items that NumPy has
  /// not.
  Column(std::string name, std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits);

  const std::string& name() const { return name_; }
  const fs::NumpyDtype& dtype() const { return dtype_; }
  std::size_t itemsize() const { return static_cast<std::size_t>(dtype_.itemsize); }
  std::int64_t rows() const { return rows_; }
  /// Fills `out`, which has whole items, from a row on.
  void read(std::int64_t row, codec::MutableBytes out);

 private:
  std::string name_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<fs::FileView> view_;
  fs::NumpyDtype dtype_;
  std::int64_t rows_ = 0;
};

/// Some rows of all columns.
struct TableRows {
  std::int64_t count = 0;
  std::vector<std::uint8_t> valid;                 ///< a byte each, 0 where the row was deleted
  std::vector<std::vector<std::uint8_t>> columns;  ///< the items, in the order of the columns
};

class Table {
 public:
  /// `group` is a group of the kind ctable. Throws Error: malformed, or unsupported with the name
  /// of a column of a kind that is not read.
  Table(const frame::PythonStore& store, const std::string& group, RunLimits& limits);

  std::vector<Column>& columns() { return columns_; }
  /// Bytes of one row.
  std::size_t row_size() const { return row_size_; }
  /// Rows, deleted ones too.
  std::int64_t rows() const { return valid_->rows(); }
  /// Reads what there is of the validity of rows.
  std::int64_t count_valid();
  /// Rows from `row` on: about 1 MiB of them, at least one unless there is none.
  TableRows read(std::int64_t row);

 private:
  void add_column(const frame::PythonStore& store, const std::string& group,
                  const std::string& name);

  RunLimits& limits_;
  std::unique_ptr<Column> valid_;
  std::vector<Column> columns_;
  std::size_t row_size_ = 0;
};

}  // namespace bloscfs::tools
