#pragma once
// The indexes that python-blosc2 keeps of an array in one of its vlmetalayers, and the query
// results that python-blosc2 caches there. A commit that changes values marks the indexes stale and
// drops the results, in the same transaction. If it cannot, the array is read-only.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/container/transaction.hpp"

namespace bloscfs::fs {

/// Returns the contents of the vlmetalayer `name`, which is about indexes; nullopt if the snapshot
/// has none of that name.
/// Throws codec::Error if it is larger than 4 MiB, or damaged.
std::optional<std::vector<std::uint8_t>> read_index_metadata(const frame::Snapshot& snapshot,
                                                             const std::string& name);

/// Throws std::system_error(EROFS), saying why, if the indexes of an array cannot be marked stale.
void require_markable_indexes(const frame::Snapshot& array);

/// Marks the indexes of an array stale, and drops its cached results, in a transaction that changes
/// its values.
void mark_array_indexes(const frame::Snapshot& array, frame::Transaction& transaction);
/// True for vlmetalayers that depend on the values of an array. A frame that replaces the array
/// does not take them over.
bool depends_on_values(const std::string& vlmetalayer);

}  // namespace bloscfs::fs
