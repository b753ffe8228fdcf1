#pragma once
// The kinds of table columns (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <string>
#include <string_view>

namespace bloscfs::tools {

enum class ColumnKind {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  boolean,
  timestamp,
  string,  ///< a fixed number of characters
  utf8,
  // Those that b2frame create does not write:
  complex64,
  complex128,
  bytes,
  dictionary,
  ndarray,
  vlstring,
  vlbytes,
  list,
  structure,
  object,
};

struct ColumnKindRow {
  ColumnKind kind;
  std::string_view name;
  std::string_view dtype;  ///< of the array `_cols/NAME` as NumPy writes it; empty if that varies
  std::int32_t itemsize;   ///< of that array
  bool is_created;         ///< by b2frame create
  bool has_own_absent;     ///< a value says itself that it is absent
};

const ColumnKindRow& column_kind(ColumnKind kind);
/// Null for a name that is not known.
const ColumnKindRow* find_column_kind(std::string_view name);

/// Names of the kinds that b2frame create writes, with the parameters that they take.
std::string created_column_kinds();

}  // namespace bloscfs::tools
