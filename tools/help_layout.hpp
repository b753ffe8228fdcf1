#pragma once
// How --help of both programs is laid out: 80 columns, arguments before options, and at the end
// what the footer says, which is where examples stand.

#include <memory>

#include <CLI/CLI.hpp>

namespace bloscfs::tools {

/// Of options, a title for all of those that say how URLs are read.
inline constexpr const char* kUrlOptions = "For URLs";

std::shared_ptr<CLI::FormatterBase> help_layout();

}  // namespace bloscfs::tools
