#pragma once
// The types of table columns that b2frame create writes, and their text form
// (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/column_kind.hpp"

namespace bloscfs::tools {

/// Units of a timestamp. The values are the decimal digits of the fraction of a second.
enum class TimeUnit { s = 0, ms = 3, us = 6, ns = 9 };

struct ColumnType {
  ColumnKind kind = ColumnKind::utf8;
  bool nullable = false;
  TimeUnit unit = TimeUnit::us;  ///< of a timestamp
  bool in_utc = false;           ///< of a timestamp: its texts have a zone
  std::int32_t length = 0;       ///< characters of a string

  /// Returns the item size of the array `_cols/NAME` in bytes. For utf8, that is the size of an
  /// offset.
  std::int32_t itemsize() const;
  /// Returns the dtype of the array `_cols/NAME`, as NumPy writes it.
  std::string dtype() const;
  /// Returns a text that parse_column_type() accepts, such as "int32" or "string[8]?".
  std::string text() const;
  /// Returns the column's entry in the schema of a table, as python-blosc2 writes it.
  nlohmann::ordered_json json(const std::string& name) const;
};

/// Parses a type such as "int32", "timestamp[ms]" or "string[8]". With `?` at the end, the column
/// may have absent values. Throws UsageError.
ColumnType parse_column_type(std::string_view text);

struct NamedType {
  std::string name;
  ColumnType type;
};

/// Parses a list such as "id:int32,name:utf8?": NAME:TYPE, separated by commas or line ends. A
/// NAME:TYPE in quotes may contain commas. Lines that begin with # are skipped. Throws UsageError.
std::vector<NamedType> parse_named_types(std::string_view text);

}  // namespace bloscfs::tools
