#pragma once
// What python-blosc2 keeps in metalayers about the values of arrays and tables, and how it is told
// that there are other values now: descriptors of indexes and generated columns have a flag
// `stale`, and tables count the changes. Contents in, contents out: only flags and counters differ.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"

namespace bloscfs::frame {

/// vlmetalayers of an array: its indexes, and results of queries.
inline constexpr char kArrayIndexesLayer[] = "blosc2_indexes";
inline constexpr char kQueryCacheLayer[] = "_blosc2_query_cache";
/// vlmetalayers of the frame that says what a table is.
inline constexpr char kKindLayer[] = "kind";
inline constexpr char kSchemaLayer[] = "schema";
inline constexpr char kIndexCatalogLayer[] = "index_catalog";
inline constexpr char kValueEpochLayer[] = "value_epoch";
inline constexpr char kVisibilityEpochLayer[] = "visibility_epoch";

/// Larger contents of these layers are not taken apart.
inline constexpr std::size_t kMaxIndexMetadata = std::size_t{4} << 20;

/// New contents; nullopt where the old ones say already what they should.
using ChangedContents = std::optional<std::vector<std::uint8_t>>;

// All throw codec::Error(malformed) for contents that are not what python-blosc2 writes, or that
// are larger or nested deeper than anything it writes: then nobody can tell what is stale.

/// Every index of an array is stale.
ChangedContents stale_array_indexes(codec::Bytes indexes);
/// Every index of a table is stale.
ChangedContents stale_index_catalog(codec::Bytes catalog);
/// Of a counter; without contents it begins at 1.
std::vector<std::uint8_t> next_epoch(codec::Bytes epoch);
/// The generated columns that depend, directly or through others, on the column with this key
/// ("a/b" for the file _cols/a/b.b2nd) are stale.
ChangedContents stale_generated_columns(codec::Bytes schema, std::string_view key);
/// True if the contents of kKindLayer say that the frame describes a table.
bool is_table_kind(codec::Bytes kind);

}  // namespace bloscfs::frame
