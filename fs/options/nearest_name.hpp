#pragma once
// Suggests a name for a mistyped one.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::fs {

/// Returns the name that is nearest to `word`, or the first of several. The distance is the number
/// of missing, additional, replaced and transposed letters. It may be at most a third of the length
/// of `word`, or 1. Returns nullopt if no name is so near, or if `word` is too long to be a name.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names);

/// Returns the `count` names that are most like `word`, the nearest first: names that begin with it
/// or with which it begins, then names with a word in common, then all others. The parts of a name
/// between "_" are its words. Among equals, the distance decides, as nearest_name() counts it.
std::vector<std::string> nearest_names(std::string_view word, std::vector<std::string> names,
                                       std::size_t count);

}  // namespace bloscfs::fs
