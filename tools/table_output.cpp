#include "tools/table_output.hpp"

#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/item_text.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {
namespace {

using codec::Bytes;

ItemText formatter_of(const Column& column) {
  if (auto found = item_text(column.dtype().stored, TextStyle::csv)) return found;
  codec::throw_unsupported(
      fmt::format("column {}: has items of {}", column.name(), column.dtype().stored));
}

Bytes item_of(const TableRows& part, std::size_t column, std::size_t itemsize, std::int64_t row) {
  return Bytes(part.columns[column]).subspan(static_cast<std::size_t>(row) * itemsize, itemsize);
}

/// Calls `visit` for the rows that are not deleted, and then `done` after each part.
void for_each_row(Table& table,
                  const std::function<void(const TableRows& part, std::int64_t row)>& visit,
                  const std::function<void()>& done) {
  Progress progress("extract", table.rows(), Progress::Unit::items);
  for (std::int64_t at = 0; at < table.rows();) {
    const TableRows part = table.read(at);
    for (std::int64_t row = 0; row < part.count; ++row)
      if (part.valid[static_cast<std::size_t>(row)] != 0) visit(part, row);
    done();
    at += part.count;
    progress.update(at);
  }
}

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// The names as NumPy's list of fields.
std::string fields_of(std::vector<Column>& columns) {
  std::string fields;
  for (const Column& column : columns) {
    std::string name;
    for (const char c : column.name()) {
      if (c == '\'' || c == '\\') name += '\\';
      name += c;
    }
    fields += fmt::format("('{}', '{}'), ", name, column.dtype().stored);
  }
  return "[" + fields + "]";
}

}  // namespace

void write_csv(Table& table, OutputFile& out) {
  std::vector<ItemText> formatters;
  std::string lines;
  auto& columns = table.columns();
  for (const Column& column : columns) {
    formatters.push_back(formatter_of(column));
    if (formatters.size() > 1) lines += ',';
    append_csv(column.name(), lines);
  }
  lines += '\n';
  const auto add_row = [&](const TableRows& part, std::int64_t row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) lines += ',';
      formatters[i](item_of(part, i, columns[i].itemsize(), row), lines);
    }
    lines += '\n';
  };
  for_each_row(table, add_row, [&] {
    out.write(bytes_of(lines));
    lines.clear();
  });
  out.write(bytes_of(lines));
}

void write_npy(Table& table, OutputFile& out) {
  const auto dtype = fs::parse_numpy_dtype(fields_of(table.columns()));
  const auto header =
      dtype ? fs::build_npy_header(dtype->descr, false, {table.count_valid()}) : std::nullopt;
  if (!header || static_cast<std::size_t>(dtype->itemsize) != table.row_size())
    codec::throw_unsupported("columns that no NPY file can have");
  out.write(*header);
  std::vector<std::uint8_t> rows;
  const auto add_row = [&](const TableRows& part, std::int64_t row) {
    for (std::size_t i = 0; i < part.columns.size(); ++i) {
      const Bytes item = item_of(part, i, table.columns()[i].itemsize(), row);
      rows.insert(rows.end(), item.begin(), item.end());
    }
  };
  for_each_row(table, add_row, [&] {
    out.write(rows);
    rows.clear();
  });
}

}  // namespace bloscfs::tools
