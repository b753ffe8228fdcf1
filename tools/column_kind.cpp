#include "tools/column_kind.hpp"

#include <algorithm>
#include <array>

namespace bloscfs::tools {
namespace {

constexpr std::array<ColumnKindRow, 24> kKinds{
    {{ColumnKind::int8, "int8", "|i1", 1, true, false},
     {ColumnKind::int16, "int16", "<i2", 2, true, false},
     {ColumnKind::int32, "int32", "<i4", 4, true, false},
     {ColumnKind::int64, "int64", "<i8", 8, true, false},
     {ColumnKind::uint8, "uint8", "|u1", 1, true, false},
     {ColumnKind::uint16, "uint16", "<u2", 2, true, false},
     {ColumnKind::uint32, "uint32", "<u4", 4, true, false},
     {ColumnKind::uint64, "uint64", "<u8", 8, true, false},
     {ColumnKind::float32, "float32", "<f4", 4, true, false},
     {ColumnKind::float64, "float64", "<f8", 8, true, false},
     {ColumnKind::boolean, "bool", "|b1", 1, true, false},
     {ColumnKind::timestamp, "timestamp", "<i8", 8, true, false},
     {ColumnKind::string, "string", "", 0, true, false},
     {ColumnKind::utf8, "utf8", "<i8", 8, true, false},
     {ColumnKind::complex64, "complex64", "<c8", 8, false, false},
     {ColumnKind::complex128, "complex128", "<c16", 16, false, false},
     {ColumnKind::bytes, "bytes", "", 0, false, false},
     {ColumnKind::dictionary, "dictionary", "<i4", 4, false, true},
     {ColumnKind::ndarray, "ndarray", "", 0, false, false},
     {ColumnKind::vlstring, "vlstring", "", 0, false, true},
     {ColumnKind::vlbytes, "vlbytes", "", 0, false, true},
     {ColumnKind::list, "list", "", 0, false, true},
     {ColumnKind::structure, "struct", "", 0, false, true},
     {ColumnKind::object, "object", "", 0, false, true}}};

}  // namespace

const ColumnKindRow& column_kind(ColumnKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(),
                       [&](const ColumnKindRow& row) { return row.kind == kind; });
}

const ColumnKindRow* find_column_kind(std::string_view name) {
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(),
                                       [&](const ColumnKindRow& one) { return one.name == name; });
  return row == kKinds.end() ? nullptr : row;
}

std::string created_column_kinds() {
  std::string names;
  for (const ColumnKindRow& row : kKinds) {
    if (!row.is_created) continue;
    names += names.empty() ? "" : ", ";
    names += row.name;
    if (row.kind == ColumnKind::timestamp) names += "[s|ms|us|ns]";
    if (row.kind == ColumnKind::string) names += "[N]";
  }
  return names;
}

}  // namespace bloscfs::tools
