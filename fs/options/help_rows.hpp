#pragma once
// Text of --help, in lines of at most 80 columns.

#include <cstddef>
#include <string>
#include <string_view>

namespace bloscfs::fs {

/// `name`, two columns in, and beside it, from `column` on, `help` in as many lines as it takes. A
/// name that does not fit there has a line of its own.
std::string help_row(std::string_view name, std::string_view help, std::size_t column);

}  // namespace bloscfs::fs
