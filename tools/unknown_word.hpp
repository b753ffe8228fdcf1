#pragma once
// Explains errors in a command line, such as an unknown word.

#include <string>

#include <CLI/CLI.hpp>

namespace bloscfs::tools {

/// Returns why the command line of `app` cannot be used. Names a word that neither `app` nor the
/// chosen subcommand knows, and the word that may be meant. If an option lacks its value, says what
/// the option takes.
std::string explanation(const CLI::ParseError& error, const CLI::App& app);

}  // namespace bloscfs::tools
