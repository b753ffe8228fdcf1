#pragma once
// A column of texts, bytes, lists, structs or other objects that are stored as msgpack.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/tables/object_documents.hpp"
#include "tools/tables/table_column.hpp"

namespace bloscfs::tools {

class ObjectColumn final : public TableColumn {
 public:
  /// Throws Error: malformed, unsupported.
  ObjectColumn(CellStyle style, const OpenColumnPart& open, RunLimits& limits);

  std::int64_t load(std::int64_t first, std::int64_t most, std::size_t size) override;
  void append_cell(std::int64_t row, std::string& line) const override;
  void check_rows(std::int64_t last) override;
  std::size_t memory() const override;

 private:
  [[noreturn]] void refuse_rows() const;

  const CellStyle style_;
  ObjectDocuments documents_;
  std::vector<std::shared_ptr<const ObjectDocument>> loaded_;
  mutable std::size_t current_ = 0;  ///< index in `loaded_` of the last found row
};

}  // namespace bloscfs::tools
