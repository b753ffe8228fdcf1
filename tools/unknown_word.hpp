#pragma once
// What is said about a command line with a word that no program knows.

#include <string>

#include <CLI/CLI.hpp>

namespace bloscfs::tools {

/// Why the command line of `app` cannot be used. Where that is, or comes with, a word that neither
/// it nor the subcommand that was chosen knows, it names that and what may be meant by it. Where an
/// option has no value, it says what the option takes.
std::string explanation(const CLI::ParseError& error, const CLI::App& app);

}  // namespace bloscfs::tools
