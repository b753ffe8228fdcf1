#pragma once
// Text for logs and terminals: names of files may hold anything, and a message is one line.

#include <string>
#include <string_view>

namespace bloscfs::fs {

/// `text` with control characters, and bytes that are no UTF-8, written as \n or \x1b.
std::string printable(std::string_view text);

}  // namespace bloscfs::fs
