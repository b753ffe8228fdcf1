#pragma once
// Reads what python-blosc2 stores in metalayers about the values of arrays and tables
// (frame/formats/indexes.md). Descriptors of an array's indexes have a flag `stale`. The frame that
// describes a table names the columns that other frames depend on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline python {

/// vlmetalayers of an array: its indexes, and results of queries.
inline constexpr char kArrayIndexesLayer[] = "blosc2_indexes";
inline constexpr char kQueryCacheLayer[] = "_blosc2_query_cache";
/// vlmetalayers of the frame that describes a table.
inline constexpr char kKindLayer[] = "kind";
inline constexpr char kSchemaLayer[] = "schema";
inline constexpr char kIndexCatalogLayer[] = "index_catalog";

/// Larger contents of these layers are not parsed.
inline constexpr std::size_t kMaxIndexMetadata = std::size_t{4} << 20;

/// The new contents; nullopt if the old ones are already right.
using ChangedContents = std::optional<std::vector<std::uint8_t>>;

// All functions throw codec::Error(malformed) for contents that python-blosc2 does not write, or
// that are larger or nested deeper than anything it writes. It is then unknown what is stale.

/// Marks every index of an array as stale.
ChangedContents stale_array_indexes(codec::Bytes indexes);
/// Returns the names of the columns that a table has indexes of.
std::vector<std::string> indexed_columns(codec::Bytes catalog);
/// Returns the names of the columns from which a table's schema generates other columns.
std::vector<std::string> generating_columns(codec::Bytes schema);
/// True if the file with that key ("a/b" for _cols/a/b.b2nd) holds values of the column. These are
/// the column itself, its strings, its dictionary, and the list of rows that have values.
bool holds_values_of(std::string_view key, std::string_view column);
/// True if the contents of kKindLayer say that the frame describes a table.
bool is_table_kind(codec::Bytes kind);

}  // namespace bloscfs::frame::inline python
