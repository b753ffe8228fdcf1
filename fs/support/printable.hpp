#pragma once
// Text for logs and terminals. File names may hold any bytes, but a message is one line.

#include <string>
#include <string_view>

namespace bloscfs::fs {

/// Returns `text` with a newline as \n, and other control characters and invalid UTF-8 as \x1b.
std::string printable(std::string_view text);

}  // namespace bloscfs::fs
