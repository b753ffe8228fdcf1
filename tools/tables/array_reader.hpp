#pragma once
// Reads an array of a store row by row. Its first dimension counts rows.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "fs/view/file_view.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// For one thread.
class ArrayReader {
 public:
  /// Throws Error: malformed if the frame is not an array with rows; unsupported if NumPy does not
  /// have the type of the items, or if the array is in Fortran order; too_large if a row has more
  /// than 64 MiB.
  ArrayReader(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits);

  /// Throws Error(malformed) unless each row is one item of type `dtype`. `what` begins the
  /// message.
  void require_items(std::string_view dtype, const char* what) const;
  /// Throws Error(malformed) unless the array has as many rows as its table.
  void require_rows(std::int64_t table_rows) const;

  const fs::NumpyDtype& dtype() const { return dtype_; }
  std::int64_t rows() const { return shape_.front(); }
  /// Returns the shape of the item of a row; empty if it is a single value.
  std::vector<std::int64_t> item_shape() const { return {shape_.begin() + 1, shape_.end()}; }
  /// Returns the size of a row in bytes.
  std::size_t row_size() const { return row_size_; }
  /// Fills `out`, which holds whole rows, from row `row` on.
  void read(std::int64_t row, codec::MutableBytes out);

 private:
  std::unique_ptr<Input> input_;
  std::unique_ptr<fs::FileView> view_;
  fs::NumpyDtype dtype_;
  std::vector<std::int64_t> shape_;
  std::size_t row_size_ = 0;
};

}  // namespace bloscfs::tools
