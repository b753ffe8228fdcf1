#pragma once
// The schema of a table of python-blosc2 (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "frame/container/snapshot.hpp"

namespace bloscfs::tools {

/// How a column says which of its values are absent.
enum class Nulls : std::uint8_t {
  none,
  sentinel,  ///< those that equal `sentinel`
  mask,      ///< those whose row the leaf NAME.notnull has as false
  native,    ///< a code of a dictionary, nil of an object
};

struct ColumnSchema {
  /// True if values may be absent.
  bool is_nullable() const;

  std::string name;
  std::string kind;
  Nulls nulls = Nulls::none;
  nlohmann::json sentinel;  ///< NaN and infinities are the texts NaN, Infinity and -Infinity
  nlohmann::json fields;    ///< what else the schema says of the column
};

/// Of a column of the kind timestamp: "us".
std::string unit_of_time(const ColumnSchema& schema);

struct TableSchema {
  std::vector<ColumnSchema> columns;
  std::vector<std::string> computed;  ///< names of columns that are not stored
};

/// `meta` is the leaf _meta of the table. Throws Error: malformed; unsupported with the name of a
/// column of a kind that is not known; too_large.
TableSchema read_table_schema(const frame::Snapshot& meta);

/// For tests: the same of the JSON text.
TableSchema parse_table_schema(std::string_view text);

}  // namespace bloscfs::tools
