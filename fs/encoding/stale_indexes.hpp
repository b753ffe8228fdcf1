#pragma once
// Indexes that python-blosc2 keeps of an array, in a vlmetalayer of the array, and results of
// queries that it has cached there. The commit that changes values marks the indexes stale, and
// drops the results, in the same transaction. Where that cannot be done the array is read-only.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/container/transaction.hpp"

namespace bloscfs::fs {

/// The contents of a vlmetalayer that tells of indexes; none if there is none. codec::Error for one
/// of more than 4 MiB, or damaged.
std::optional<std::vector<std::uint8_t>> read_index_metadata(const frame::Snapshot& snapshot,
                                                             const std::string& name);

/// Throws std::system_error(EROFS), saying why, where the indexes of an array could not be marked.
void require_markable_indexes(const frame::Snapshot& array);

/// Marks the indexes of an array stale, and drops what it has of results, in a transaction that
/// changes its values.
void mark_array_indexes(const frame::Snapshot& array, frame::Transaction& transaction);
/// True for vlmetalayers that tell of the values, and are not taken over by a frame that takes an
/// array's place.
bool tells_of_values(const std::string& vlmetalayer);

}  // namespace bloscfs::fs
