#pragma once
// The layout of --help for both programs: 80 columns, arguments before options, and the footer at
// the end. The footer holds the examples.

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace bloscfs::tools {

/// Group of the options that say how to read URLs; also its title in the help.
inline constexpr const char* kUrlOptions = "For URLs";

/// `arguments` ends the usage line, such as "FILE..."; if it is empty, the layout lists the
/// arguments and the required options.
std::shared_ptr<CLI::FormatterBase> help_layout(std::string arguments = "");

}  // namespace bloscfs::tools
