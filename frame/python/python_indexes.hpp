#pragma once
// What python-blosc2 keeps in metalayers about the values of arrays and tables
// (frame/formats/indexes.md): descriptors of an array's indexes have a flag `stale`, and the frame
// that describes a table names the columns whose values other frames depend on.

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
/// vlmetalayers of the frame that says what a table is.
inline constexpr char kKindLayer[] = "kind";
inline constexpr char kSchemaLayer[] = "schema";
inline constexpr char kIndexCatalogLayer[] = "index_catalog";

/// Larger contents of these layers are not taken apart.
inline constexpr std::size_t kMaxIndexMetadata = std::size_t{4} << 20;

/// New contents; nullopt where the old ones say already what they should.
using ChangedContents = std::optional<std::vector<std::uint8_t>>;

// All throw codec::Error(malformed) for contents that are not what python-blosc2 writes, or that
// are larger or nested deeper than anything it writes: then nobody can tell what is stale.

/// Every index of an array is stale.
ChangedContents stale_array_indexes(codec::Bytes indexes);
/// Names of the columns that a table has indexes of.
std::vector<std::string> indexed_columns(codec::Bytes catalog);
/// Names of the columns of which a table's schema generates others.
std::vector<std::string> generating_columns(codec::Bytes schema);
/// True if the file with that key ("a/b" for _cols/a/b.b2nd) holds values of the column: the column
/// itself, its strings, its dictionary, or which of its rows have values.
bool holds_values_of(std::string_view key, std::string_view column);
/// True if the contents of kKindLayer say that the frame describes a table.
bool is_table_kind(codec::Bytes kind);

}  // namespace bloscfs::frame::inline python
