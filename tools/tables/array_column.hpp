#pragma once
// A column that is an array of values, or of arrays of one shape.

#include <memory>
#include <optional>

#include "tools/tables/array_reader.hpp"
#include "tools/tables/item_cell.hpp"
#include "tools/tables/null_mask.hpp"
#include "tools/tables/table_column.hpp"

namespace bloscfs::tools {

class ArrayColumn final : public TableColumn {
 public:
  /// Throws Error: malformed, unsupported.
  ArrayColumn(const ColumnSchema& schema, CellStyle style, const OpenColumnPart& open,
              std::int64_t table_rows, RunLimits& limits);

  std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) override;
  void append_cell(std::int64_t row, std::string& line) const override;
  void check_rows(std::int64_t last) override {
    if (mask_) mask_->load(last, 1);
  }
  std::size_t memory() const override { return items_.size(); }
  std::size_t row_size() const override { return array_.row_size(); }
  const fs::NumpyDtype* item_dtype() const override;
  bool is_absent(std::int64_t row) const override;
  codec::Bytes item(std::int64_t row) const override;

 private:
  const bool is_text_;  ///< a column of texts, whose absent values have a mark in CSV
  const CellStyle style_;
  ArrayReader array_;
  std::optional<NullMask> mask_;
  ItemCell cell_;
  IsAbsent is_sentinel_;
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> items_;
};

}  // namespace bloscfs::tools
