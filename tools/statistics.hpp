#pragma once
// Statistics of the numbers that a frame holds.

#include <optional>

#include <nlohmann/json.hpp>

#include "tools/sliced_items.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {

/// Of a slice: an object with count, nan, zeros, min, max, mean and std (of the population); of
/// records one for each field of numbers, by its name. NaN counts for nothing but `nan`; what no
/// JSON number can be is a text: "inf". Null where there are no numbers. Reads everything. Errors
/// as Elements'.
nlohmann::ordered_json statistics_of(SlicedItems& items);

/// The same of the first column of a table, without absent values, of which `absent` tells the
/// number where the column may have some. Nothing where that is no array of one value a row.
std::optional<nlohmann::ordered_json> statistics_of(Table& table);

}  // namespace bloscfs::tools
