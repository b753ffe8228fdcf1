#pragma once
// A column with numbered texts: an array of codes, and the texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/memory_budget.hpp"
#include "tools/tables/array_reader.hpp"
#include "tools/tables/object_documents.hpp"
#include "tools/tables/table_column.hpp"

namespace bloscfs::tools {

class DictionaryColumn final : public TableColumn {
 public:
  /// Throws Error: malformed, unsupported.
  DictionaryColumn(const ColumnSchema& schema, CellStyle style, const OpenColumnPart& open,
                   std::int64_t table_rows, RunLimits& limits);

  std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) override;
  void append_cell(std::int64_t row, std::string& line) const override;
  std::size_t memory() const override {
    return letters_.size() + texts_.size() * sizeof(Text) + codes_.size() * sizeof(std::int32_t);
  }
  std::size_t row_size() const override { return sizeof(std::int32_t); }

 private:
  /// The range of a text in `letters_`.
  struct Text {
    std::size_t begin, size;
  };

  void load_texts();
  void add_texts(const ObjectDocument& document);

  const CellStyle style_;
  ArrayReader codes_array_;
  std::optional<ObjectDocuments> documents_;  ///< empty once the texts are loaded
  std::int64_t null_code_ = -1;
  std::int64_t first_ = 0;
  std::vector<std::int32_t> codes_;
  fs::MemoryBudget::Part charge_;  ///< for the texts
  std::string letters_;
  std::vector<Text> texts_;
};

}  // namespace bloscfs::tools
