#pragma once
// Statistics of the numbers that a frame holds.

#include <nlohmann/json.hpp>

#include "tools/elements.hpp"

namespace bloscfs::tools {

/// An object with count, nan, zeros, min, max, mean and std (of the population); of records one for
/// each field of numbers, by its name. NaN counts for nothing but `nan`; what no JSON number can
/// be is a text: "inf". Null where there are no numbers. Reads everything. Errors as Elements'.
nlohmann::ordered_json statistics_of(Elements& elements);

}  // namespace bloscfs::tools
