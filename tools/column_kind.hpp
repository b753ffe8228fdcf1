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
  // b2frame create does not write the following kinds:
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
  std::string_view dtype;  ///< of the array `_cols/NAME` as NumPy writes it; empty if it varies
  std::int32_t itemsize;   ///< of the array `_cols/NAME`; 0 if it varies
  bool is_created;         ///< by b2frame create
  bool has_native_null;    ///< a value itself can say that it is absent, without a mask
};

const ColumnKindRow& column_kind(ColumnKind kind);
/// Returns null for an unknown name.
const ColumnKindRow* find_column_kind(std::string_view name);

/// Returns the names of the kinds that b2frame create writes, with their parameters.
std::string created_column_kinds();

}  // namespace bloscfs::tools
