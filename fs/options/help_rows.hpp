#pragma once
// Formats the lines of --help, which have at most 80 columns.

#include <cstddef>
#include <string>
#include <string_view>

namespace bloscfs::fs {

/// Returns `name`, indented by two columns, and next to it `help`, which starts at `column` and is
/// wrapped. A name that does not fit before `column` gets a line of its own.
std::string help_row(std::string_view name, std::string_view help, std::size_t column);

}  // namespace bloscfs::fs
