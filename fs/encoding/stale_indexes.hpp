#pragma once
// Indexes that python-blosc2 keeps of arrays and tables, and results of queries that it has cached:
// they must not be taken for true once values have changed through the mount.
//
// The rule: before other values can be seen in SOURCE, what tells of the old ones is durably stale
// or gone. The descriptors of an array's indexes are in a vlmetalayer of the array, and change in
// the same transaction. Those of a table are in a frame of their own beside its columns, and cached
// results in another one: these are changed first, by a durable commit of their own. What ends the
// mount between the two leaves old values with an index that is not used, which is right, and never
// new values with one that is.
//
// Where this cannot be done the file is read-only. Attributes and times are no values.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/container/transaction.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Where a table's columns are, and what it keeps of them.
inline constexpr std::string_view kColumns = "_cols";
inline constexpr std::string_view kTableFrame = "_meta.b2f";

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

/// What changes in the frame that describes a table when values of the column with that key, or, if
/// it is empty, the rows that are there do; nothing where it describes no table.
LayerChanges table_changes(const ReadVlmetalayer& read, const std::string& key);
/// Why values in the table that the frame at `path` describes cannot change: of the column with
/// that key, or, if it is empty, which of its rows are there. Empty if they can. Throws
/// std::system_error where the frame cannot be read.
std::string table_obstacle(const std::string& path, const std::string& key, bool is_mounted);

}  // namespace bloscfs::fs
