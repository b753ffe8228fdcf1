#include "tools/tables/array_column.hpp"

#include <fmt/format.h>

#include "codec/error.hpp"

namespace bloscfs::tools {
namespace {

/// Throws unless the items of the array have the shape that the schema says.
void check_item_shape(const ColumnSchema& schema, const std::vector<std::int64_t>& shape) {
  const auto field = schema.fields.find("item_shape");
  nlohmann::json expected = nlohmann::json::array();
  if (schema.kind == "ndarray" && field != schema.fields.end()) expected = *field;
  if (expected != nlohmann::json(shape))
    codec::throw_malformed(fmt::format("has items of the shape {}, its schema says {}",
                                       nlohmann::json(shape).dump(), expected.dump()));
}

}  // namespace

ArrayColumn::ArrayColumn(const ColumnSchema& schema, CellStyle style, const OpenColumnPart& open,
                         std::int64_t table_rows, RunLimits& limits)
    : is_text_(schema.kind == "string" || schema.kind == "bytes"),
      style_(style),
      array_(required_part(open, "", "array is"), limits) {
  array_.require_rows(table_rows);
  check_item_shape(schema, array_.item_shape());
  if (schema.nulls == Nulls::mask) mask_.emplace(open(".notnull"), limits);
  const fs::NumpyDtype& dtype = array_.dtype();
  const bool is_array = schema.kind == "ndarray";
  cell_ = is_array ? array_item_cell(dtype.stored, dtype.itemsize, array_.item_shape(), style)
                   : item_cell(schema, dtype.stored, style);
  // to_csv() of python-blosc2 writes sentinels of single values unchanged.
  if (is_array || style != CellStyle::csv)
    is_sentinel_ = sentinel_test(schema, dtype.stored, dtype.itemsize);
}

std::int64_t ArrayColumn::load(std::int64_t first, std::int64_t most, std::size_t /*size*/) {
  first_ = first;
  items_.resize(static_cast<std::size_t>(most) * array_.row_size());
  array_.read(first, items_);
  if (mask_) mask_->load(first, most);
  return most;
}

codec::Bytes ArrayColumn::item(std::int64_t row) const {
  const std::size_t size = array_.row_size();
  return codec::Bytes(items_).subspan(static_cast<std::size_t>(row - first_) * size, size);
}

void ArrayColumn::append_cell(std::int64_t row, std::string& line) const {
  const bool is_marked = mask_ && is_text_ && style_ == CellStyle::csv;
  if (is_absent(row)) return append_absent_cell(style_, line, is_marked);
  if (is_marked) {
    std::string text;
    cell_(item(row), text);
    // Only an empty text, or one that begins with a backslash, can need a mark.
    if (text.empty() || text.front() == '\\') return append_marked_text(text, line);
    line += text;
    return;
  }
  cell_(item(row), line);
}

bool ArrayColumn::is_absent(std::int64_t row) const {
  return mask_ ? mask_->is_absent(row) : is_sentinel_ && is_sentinel_(item(row));
}

const fs::NumpyDtype* ArrayColumn::item_dtype() const {
  return array_.item_shape().empty() ? &array_.dtype() : nullptr;
}

}  // namespace bloscfs::tools
