#pragma once
// Statistics of the numbers in a frame.

#include <optional>

#include <nlohmann/json.hpp>

#include "tools/sliced_items.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {

/// Returns the statistics of a slice: an object with count, nan, zeros, min, max, mean and std (of
/// the population). For records, returns one such object for each numeric field, by its name. NaNs
/// count only in `count` and `nan`. Values that JSON cannot express are texts: "inf". Returns null
/// if there are no numbers. Reads all items. Throws what Elements::read() throws.
nlohmann::ordered_json statistics_of(SlicedItems& items);

/// Returns the statistics of the first column of a table, without absent values. If the column may
/// have absent values, adds their number as `absent`. Returns nullopt if the column is not an array
/// with one value a row, and null if the values are not numbers.
std::optional<nlohmann::ordered_json> statistics_of(Table& table);

}  // namespace bloscfs::tools
