#pragma once
// Text for logs and terminals: names of files may hold anything, and a message is one line.

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class formatter;
}

namespace bloscfs::fs {

/// `text` with control characters, and bytes that are no UTF-8, written as \n or \x1b.
std::string printable(std::string_view text);

/// Writes log messages by spdlog's `pattern`, each printable, with `end` behind them.
std::unique_ptr<spdlog::formatter> printable_formatter(const std::string& pattern,
                                                       const std::string& end);

}  // namespace bloscfs::fs
