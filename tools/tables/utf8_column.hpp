#pragma once
// A column of texts of any length: an array of their offsets, and an array of their bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/memory_budget.hpp"
#include "tools/tables/array_reader.hpp"
#include "tools/tables/null_mask.hpp"
#include "tools/tables/table_column.hpp"

namespace bloscfs::tools {

class Utf8Column final : public TableColumn {
 public:
  /// Throws Error: malformed, unsupported.
  Utf8Column(const ColumnSchema& schema, CellStyle style, const OpenColumnPart& open,
             RunLimits& limits);

  std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) override;
  void append_cell(std::int64_t row, std::string& line) const override;
  void check_rows(std::int64_t last) override;
  std::size_t memory() const override {
    return bytes_.size() + offsets_.size() * sizeof(std::int64_t);
  }

 private:
  std::int64_t rows() const { return offsets_array_.rows() - 1; }
  [[noreturn]] void refuse_rows() const;
  void load_offsets(std::int64_t first, std::int64_t count);
  /// Returns how many rows with loaded offsets have at most `size` bytes together; at least 1.
  std::int64_t rows_of_size(std::size_t size) const;
  void load_texts(std::int64_t count);

  const CellStyle style_;
  ArrayReader offsets_array_;
  ArrayReader bytes_array_;
  std::optional<NullMask> mask_;
  std::optional<std::string> sentinel_;
  std::int64_t first_ = 0;
  std::vector<std::int64_t> offsets_;  ///< of the loaded rows, and the end of the last one
  fs::MemoryBudget::Part charge_;      ///< for `bytes_`
  std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::tools
