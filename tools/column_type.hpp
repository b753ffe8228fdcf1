#pragma once
// The types of table columns that b2frame create writes, and the texts that stand for them
// (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/column_kind.hpp"

namespace bloscfs::tools {

/// Units of a timestamp: how many decimal digits its fraction of a second has.
enum class TimeUnit { s = 0, ms = 3, us = 6, ns = 9 };

struct ColumnType {
  ColumnKind kind = ColumnKind::utf8;
  bool nullable = false;
  TimeUnit unit = TimeUnit::us;  ///< of a timestamp
  bool in_utc = false;           ///< of a timestamp: its texts have a zone
  std::int32_t length = 0;       ///< characters of a string

  /// Bytes of an item of the array `_cols/NAME`; those of an offset if the kind is utf8.
  std::int32_t itemsize() const;
  /// Of that array, as NumPy writes it.
  std::string dtype() const;
  /// "int32", "string[8]?"; what parse_column_type() takes.
  std::string text() const;
  /// What python-blosc2 has in the schema of a table.
  nlohmann::ordered_json json(const std::string& name) const;
};

/// "int32", "timestamp[ms]", "string[8]"; with `?` behind it a column that may have absent values.
/// Throws UsageError.
ColumnType parse_column_type(std::string_view text);

struct NamedType {
  std::string name;
  ColumnType type;
};

/// "id:int32,name:utf8?": NAME:TYPE, separated by commas or line ends. A NAME:TYPE in quotes may
/// contain commas; lines that begin with # are skipped. Throws UsageError.
std::vector<NamedType> parse_named_types(std::string_view text);

}  // namespace bloscfs::tools
