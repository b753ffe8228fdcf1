#pragma once
// The schema of a table of python-blosc2 (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "frame/container/snapshot.hpp"

namespace bloscfs::tools {

/// How a column marks absent values.
enum class Nulls : std::uint8_t {
  none,
  sentinel,  ///< values that equal `sentinel`
  mask,      ///< rows that are false in the leaf NAME.notnull
  native,    ///< the null code of a dictionary, nil for an object
};

struct ColumnSchema {
  /// True if values may be absent.
  bool is_nullable() const;

  std::string name;
  std::string kind;
  Nulls nulls = Nulls::none;
  nlohmann::json sentinel;  ///< NaN and infinities are the texts NaN, Infinity, -Infinity
  nlohmann::json fields;    ///< all fields of the column in the schema
};

/// Returns the unit of a column of kind timestamp, such as "us".
std::string unit_of_time(const ColumnSchema& schema);

struct TableSchema {
  std::vector<ColumnSchema> columns;
  std::vector<std::string> computed;  ///< names of columns that are not stored
};

/// Reads the schema from the leaf _meta of a table. Throws Error: malformed; unsupported with the
/// name of a column whose kind is unknown; too_large.
TableSchema read_table_schema(const frame::Snapshot& meta);

/// Parses the JSON text of a schema. For tests.
TableSchema parse_table_schema(std::string_view text);

}  // namespace bloscfs::tools
