#include "tools/tables/column_opening.hpp"

#include "tools/tables/array_column.hpp"
#include "tools/tables/dictionary_column.hpp"
#include "tools/tables/object_column.hpp"
#include "tools/tables/utf8_column.hpp"

namespace bloscfs::tools {

std::unique_ptr<TableColumn> open_table_column(const ColumnSchema& schema, CellStyle style,
                                               const OpenColumnPart& open, std::int64_t table_rows,
                                               RunLimits& limits) {
  if (schema.kind == "utf8") return std::make_unique<Utf8Column>(schema, style, open, limits);
  if (schema.kind == "dictionary")
    return std::make_unique<DictionaryColumn>(schema, style, open, table_rows, limits);
  if (schema.nulls == Nulls::native)
    return std::make_unique<ObjectColumn>(schema, style, open, limits);
  return std::make_unique<ArrayColumn>(schema, style, open, table_rows, limits);
}

}  // namespace bloscfs::tools
