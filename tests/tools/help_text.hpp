#pragma once
// Parses the --help of the programs.

#include <set>
#include <string>
#include <vector>

namespace bloscfs::test {

struct HelpText {
  std::string text;
  std::vector<std::string> lines;
  std::vector<std::string> subcommands;
  std::set<std::string> flags;          ///< with their dashes
  std::set<std::string> mount_options;  ///< of bloscfs only, without what follows the name
  std::vector<std::string> arguments;   ///< such as FILE
  std::vector<std::string> examples;    ///< command lines
  std::string subcommand;               ///< empty for the program itself
  /// The command line that printed the help, for messages.
  std::string command;
};

/// Returns the help of a subcommand of b2frame, or of b2frame itself if `subcommand` is empty.
HelpText help_of_b2frame(const std::string& subcommand);
HelpText help_of_bloscfs();
/// Returns the help of bloscfs when mount(8) calls it.
HelpText help_of_mount_helper();
std::vector<HelpText> help_of_subcommands();

}  // namespace bloscfs::test
