#pragma once
// What somebody may have meant who has mistyped a name.

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

}  // namespace bloscfs::fs
