#pragma once
// What somebody may have meant who has mistyped a name.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::fs {

/// The name that `word` differs from least: by a third of its letters at most, where a letter that
/// is missing, one too many, another one, and two that changed places count as one each. Of several
/// the first. Nothing for words that are longer than any name.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names);

/// The `count` names that differ least from `word`, counted as above, the nearest first.
std::vector<std::string> nearest_names(std::string_view word, std::vector<std::string> names,
                                       std::size_t count);

}  // namespace bloscfs::fs
