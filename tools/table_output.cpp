#include "tools/table_output.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {
namespace {

using codec::Bytes;
using codec::throw_malformed;

/// Appends the text of an item.
using Formatter = std::function<void(Bytes item, std::string& line)>;

template <typename Value>
Value load(Bytes item, bool is_big) {
  std::array<std::uint8_t, sizeof(Value)> bytes{};
  std::copy_n(item.begin(), sizeof(Value), bytes.begin());
  if (is_big) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Value>(bytes);
}

template <typename Value>
Formatter number(bool is_big) {
  return [is_big](Bytes item, std::string& line) {
    const std::size_t begin = line.size();
    fmt::format_to(std::back_inserter(line), "{}", load<Value>(item, is_big));
    // Numbers without a fraction stay recognisable as floating-point ones.
    if constexpr (std::is_floating_point_v<Value>)
      if (line.find_first_not_of("-0123456789", begin) == std::string::npos) line += ".0";
  };
}

void append_quoted(std::string_view text, std::string& line) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

/// Code points of four bytes each; NULs at the end are no part of the text.
Formatter unicode(bool is_big) {
  return [is_big](Bytes item, std::string& line) {
    std::string text;
    std::size_t size = item.size();
    while (size > 0 && load<std::uint32_t>(item.subspan(size - 4), is_big) == 0) size -= 4;
    for (std::size_t at = 0; at < size; at += 4)
      if (!frame::append_utf8(text, load<std::uint32_t>(item.subspan(at), is_big)))
        throw_malformed("a text with what is no character");
    append_quoted(text, line);
  };
}

void append_bytes(Bytes item, std::string& line) {
  std::string_view text(reinterpret_cast<const char*>(item.data()), item.size());
  while (text.ends_with('\0')) text.remove_suffix(1);
  append_quoted(text, line);
}

Formatter integer(std::string_view type, bool is_big) {
  if (type == "i1") return number<std::int8_t>(is_big);
  if (type == "i2") return number<std::int16_t>(is_big);
  if (type == "i4") return number<std::int32_t>(is_big);
  if (type == "i8") return number<std::int64_t>(is_big);
  if (type == "u1") return number<std::uint8_t>(is_big);
  if (type == "u2") return number<std::uint16_t>(is_big);
  if (type == "u4") return number<std::uint32_t>(is_big);
  if (type == "u8") return number<std::uint64_t>(is_big);
  return nullptr;
}

Formatter formatter_of(const Column& column) {
  const std::string& stored = column.dtype().stored;
  const bool is_big = stored.front() == '>';
  const std::string_view type = std::string_view(stored).substr(1);
  if (auto found = integer(type, is_big)) return found;
  if (type == "f4") return number<float>(is_big);
  if (type == "f8") return number<double>(is_big);
  if (type == "b1")
    return [](Bytes item, std::string& line) { line += item[0] != 0 ? "True" : "False"; };
  if (type.starts_with('U')) return unicode(is_big);
  if (type.starts_with('S')) return append_bytes;
  codec::throw_unsupported(fmt::format("column {}: has items of {}", column.name(), stored));
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
  std::vector<Formatter> formatters;
  std::string lines;
  auto& columns = table.columns();
  for (const Column& column : columns) {
    formatters.push_back(formatter_of(column));
    if (formatters.size() > 1) lines += ',';
    append_quoted(column.name(), lines);
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
