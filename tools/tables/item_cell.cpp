#include "tools/tables/item_cell.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"
#include "tools/column_kind.hpp"
#include "tools/date_text.hpp"
#include "tools/item_text.hpp"
#include "tools/item_value.hpp"
#include "tools/tables/json_text.hpp"
#include "tools/tables/python_text.hpp"

namespace bloscfs::tools {
namespace {

using codec::Bytes;

/// A NumPy type without its byte order, and the byte order.
struct ItemType {
  explicit ItemType(std::string_view dtype)
      : is_big(dtype.starts_with('>')),
        name(dtype.substr(std::min<std::size_t>(1, dtype.size()))) {}

  bool is_big;
  std::string name;
};

/// Calls `use` with a value of the C++ type for a NumPy type. Returns false if the type is not one
/// of these numbers.
template <typename Use>
bool with_number_type(std::string_view name, const Use& use) {
  if (name == "i1") return use(std::int8_t{}), true;
  if (name == "i2") return use(std::int16_t{}), true;
  if (name == "i4") return use(std::int32_t{}), true;
  if (name == "i8") return use(std::int64_t{}), true;
  if (name == "u1") return use(std::uint8_t{}), true;
  if (name == "u2") return use(std::uint16_t{}), true;
  if (name == "u4") return use(std::uint32_t{}), true;
  if (name == "u8") return use(std::uint64_t{}), true;
  if (name == "f4") return use(float{}), true;
  if (name == "f8") return use(double{}), true;
  return false;
}

std::string text_of_characters(Bytes item, bool is_big) {
  std::string text;
  std::size_t size = item.size();
  while (size > 0 && load_value<std::uint32_t>(item.subspan(size - 4), is_big) == 0) size -= 4;
  for (std::size_t at = 0; at < size; at += 4)
    if (!frame::append_utf8(text, load_value<std::uint32_t>(item.subspan(at), is_big)))
      codec::throw_malformed("a text has an invalid character");
  return text;
}

Bytes without_zeros(Bytes item) {
  while (!item.empty() && item.back() == 0) item = item.first(item.size() - 1);
  return item;
}

/// True if a column of a kind may have items of a type.
bool are_items_of(const std::string& kind, const std::string& name) {
  // A bool column whose absent values are a sentinel is stored as uint8.
  if (kind == "bool") return name == "b1" || name == "u1";
  if (kind == "string") return name.starts_with('U');
  if (kind == "bytes") return name.starts_with('S');
  const ColumnKindRow* const row = find_column_kind(kind);
  return row != nullptr && !row->dtype.empty() && row->dtype.substr(1) == name;
}

// --- one value

template <typename Value>
ItemCell float_cell(bool is_big, bool is_json) {
  return [is_big, is_json](Bytes item, std::string& line) {
    const auto value = load_value<Value>(item, is_big);
    if (is_json)
      append_json_float(value, line);
    else
      append_python_float(value, line);
  };
}

template <typename Part>
ItemCell complex_cell(bool is_big, bool is_json) {
  return [is_big, is_json](Bytes item, std::string& line) {
    const auto real = load_value<Part>(item, is_big);
    const auto imaginary = load_value<Part>(item.subspan(sizeof(Part)), is_big);
    if (!is_json) return append_python_complex(real, imaginary, line);
    line += '[';
    append_json_float(real, line);
    line += ',';
    append_json_float(imaginary, line);
    line += ']';
  };
}

ItemCell json_bool_cell() {
  return [](Bytes item, std::string& line) { line += item[0] != 0 ? "true" : "false"; };
}

ItemCell json_string_cell(bool is_big) {
  return [is_big](Bytes item, std::string& line) {
    append_json_text(text_of_characters(item, is_big), line);
  };
}

/// Returns the writer for a type whose text in JSON or CSV differs from that of item_text(); null
/// for other types.
ItemCell special_cell(const ItemType& type, bool is_json) {
  if (type.name == "f4") return float_cell<float>(type.is_big, is_json);
  if (type.name == "f8") return float_cell<double>(type.is_big, is_json);
  if (type.name == "c8") return complex_cell<float>(type.is_big, is_json);
  if (type.name == "c16") return complex_cell<double>(type.is_big, is_json);
  if (type.name == "b1" && is_json) return json_bool_cell();
  if (type.name.starts_with('U') && is_json) return json_string_cell(type.is_big);
  if (type.name.starts_with('S'))
    return [is_json](Bytes item, std::string& line) {
      if (is_json) return append_json_binary(without_zeros(item), line);
      std::string text;
      append_python_bytes(without_zeros(item), text);
      append_csv(text, line);
    };
  return nullptr;
}

ItemCell usual_cell(const std::string& dtype, CellStyle style) {
  if (style != CellStyle::text)
    if (auto cell = special_cell(ItemType(dtype), style == CellStyle::json)) return cell;
  if (auto text = item_text(dtype, style == CellStyle::text ? TextStyle::columns : TextStyle::csv))
    return text;
  codec::throw_unsupported("has items of " + dtype);
}

ItemCell timestamp_cell(const ColumnSchema& schema, bool is_big, CellStyle style) {
  const std::string name = unit_of_time(schema);
  const auto unit = parse_date_unit("[" + name + "]");
  if (!unit) codec::throw_malformed("its unit of time is " + name);
  return [unit = *unit, is_big, style](Bytes item, std::string& line) {
    const auto value = load_value<std::int64_t>(item, is_big);
    if (style == CellStyle::json && value == kNoTime) return append_absent_cell(style, line);
    if (style == CellStyle::json) line += '"';
    line += date_text(value, unit);
    if (style == CellStyle::json) line += '"';
  };
}

// --- arrays

/// Returns the writer of a value in a nested list. In CSV, numbers are written like Python's json.
ItemCell element_cell(const std::string& dtype, CellStyle style) {
  const ItemType type(dtype);
  if (style == CellStyle::csv && (type.name == "f4" || type.name == "f8"))
    return [is_big = type.is_big, is_short = type.name == "f4"](Bytes item, std::string& line) {
      const double value =
          is_short ? double{load_value<float>(item, is_big)} : load_value<double>(item, is_big);
      if (std::isinf(value))
        line += value < 0 ? "-Infinity" : "Infinity";
      else if (std::isnan(value))
        line += "NaN";
      else
        append_python_float(value, line);
    };
  if (type.name.starts_with('M') || type.name.starts_with('m'))
    return [text = usual_cell(dtype, CellStyle::json)](Bytes item, std::string& line) {
      line += '"';
      text(item, line);
      line += '"';
    };
  return usual_cell(dtype, CellStyle::json);
}

/// Writes an array as nested lists.
class NestedList {
 public:
  NestedList(ItemCell element, std::int64_t itemsize, std::vector<std::int64_t> shape,
             std::string separator)
      : element_(std::move(element)),
        itemsize_(static_cast<std::size_t>(itemsize)),
        shape_(std::move(shape)),
        separator_(std::move(separator)) {}

  void append(Bytes item, std::size_t dimension, std::string& line) const {
    if (dimension == shape_.size()) return element_(item.first(itemsize_), line);
    const auto length = static_cast<std::size_t>(shape_[dimension]);
    line += '[';
    for (std::size_t i = 0; i < length; i++) {
      if (i > 0) line += separator_;
      append(item.subspan(i * (item.size() / length), item.size() / length), dimension + 1, line);
    }
    line += ']';
  }

 private:
  ItemCell element_;
  std::size_t itemsize_;
  std::vector<std::int64_t> shape_;
  std::string separator_;
};

// --- sentinels

std::optional<std::vector<std::uint8_t>> base64_bytes(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  return bytes;
}

[[noreturn]] void refuse_sentinel(const nlohmann::json& sentinel) {
  codec::throw_malformed("its null_value is " + sentinel.dump());
}

/// Returns the sentinel of a floating-point column. NaN and infinities are given as texts.
double float_sentinel(const nlohmann::json& sentinel) {
  if (sentinel.is_number()) return sentinel.get<double>();
  if (sentinel == "NaN") return std::nan("");
  if (sentinel == "Infinity") return std::numeric_limits<double>::infinity();
  if (sentinel == "-Infinity") return -std::numeric_limits<double>::infinity();
  refuse_sentinel(sentinel);
}

template <typename Value>
Value integer_sentinel(const nlohmann::json& sentinel) {
  if (sentinel.is_boolean()) return static_cast<Value>(sentinel.get<bool>() ? 1 : 0);
  if (!sentinel.is_number_integer()) refuse_sentinel(sentinel);
  const bool fits = sentinel.is_number_unsigned()
                        ? std::in_range<Value>(sentinel.get<std::uint64_t>())
                        : std::in_range<Value>(sentinel.get<std::int64_t>());
  if (!fits) refuse_sentinel(sentinel);
  return sentinel.is_number_unsigned() ? static_cast<Value>(sentinel.get<std::uint64_t>())
                                       : static_cast<Value>(sentinel.get<std::int64_t>());
}

template <typename Value>
IsAbsent number_test(const nlohmann::json& sentinel, bool is_big) {
  if constexpr (std::is_floating_point_v<Value>) {
    const auto value = static_cast<Value>(float_sentinel(sentinel));
    return [value, is_big](Bytes item) {
      const auto found = load_value<Value>(item, is_big);
      return std::isnan(value) ? std::isnan(found) : found == value;
    };
  } else {
    const auto value = integer_sentinel<Value>(sentinel);
    return [value, is_big](Bytes item) { return load_value<Value>(item, is_big) == value; };
  }
}

IsAbsent string_test(const nlohmann::json& sentinel, bool is_big) {
  if (!sentinel.is_string()) refuse_sentinel(sentinel);
  return [text = sentinel.get<std::string>(), is_big](Bytes item) {
    return text_of_characters(item, is_big) == text;
  };
}

/// The sentinel of bytes is an object: {"__bytes__": true, "base64": ...}.
IsAbsent bytes_test(const nlohmann::json& sentinel) {
  const auto text = sentinel.is_object() ? sentinel.find("base64") : sentinel.end();
  if (text == sentinel.end() || !text->is_string()) refuse_sentinel(sentinel);
  auto bytes = base64_bytes(text->get_ref<const std::string&>());
  if (!bytes) refuse_sentinel(sentinel);
  return [value = *std::move(bytes)](Bytes item) {
    const Bytes found = without_zeros(item), wanted = without_zeros(value);
    return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end());
  };
}

IsAbsent value_test(const nlohmann::json& sentinel, const ItemType& type) {
  if (type.name.starts_with('U')) return string_test(sentinel, type.is_big);
  if (type.name.starts_with('S')) return bytes_test(sentinel);
  IsAbsent test;
  with_number_type(type.name == "b1" ? "u1" : std::string_view(type.name),
                   [&](auto value) { test = number_test<decltype(value)>(sentinel, type.is_big); });
  if (!test) codec::throw_unsupported("has a null_value and items of " + type.name);
  return test;
}

}  // namespace

ItemCell item_cell(const ColumnSchema& schema, const std::string& dtype, CellStyle style) {
  const ItemType type(dtype);
  if (!are_items_of(schema.kind, type.name))
    codec::throw_malformed(
        fmt::format("is of the kind {}, and has items of {}", schema.kind, dtype));
  if (schema.kind == "timestamp") return timestamp_cell(schema, type.is_big, style);
  if (schema.kind == "bool" && style == CellStyle::json) return json_bool_cell();
  return usual_cell(dtype, style);
}

ItemCell array_item_cell(const std::string& dtype, std::int64_t itemsize,
                         std::vector<std::int64_t> shape, CellStyle style) {
  NestedList list(element_cell(dtype, style), itemsize, std::move(shape),
                  style == CellStyle::csv ? ", " : ",");
  if (style == CellStyle::json)
    return [list = std::move(list)](Bytes item, std::string& line) { list.append(item, 0, line); };
  return [list = std::move(list), style](Bytes item, std::string& line) {
    std::string text;
    list.append(item, 0, text);
    append_text_cell(text, style, line);
  };
}

IsAbsent sentinel_test(const ColumnSchema& schema, const std::string& dtype,
                       std::int64_t itemsize) {
  if (schema.nulls != Nulls::sentinel) return nullptr;
  return [test = value_test(schema.sentinel, ItemType(dtype)),
          size = static_cast<std::size_t>(itemsize)](Bytes item) {
    for (; !item.empty(); item = item.subspan(size))
      if (!test(item.first(size))) return false;
    return true;
  };
}

}  // namespace bloscfs::tools
