#pragma once
// What --help of the programs names.

#include <set>
#include <string>
#include <vector>

namespace bloscfs::test {

struct HelpText {
  std::string text;
  std::vector<std::string> lines;
  std::vector<std::string> subcommands;
  std::set<std::string> flags;          ///< with their dashes
  std::set<std::string> mount_options;  ///< of bloscfs alone, without what follows the name
  std::vector<std::string> arguments;   ///< such as FILE
  std::vector<std::string> examples;    ///< command lines
  std::string subcommand;               ///< empty: of the program
  /// For messages: the command line that it was asked by.
  std::string command;
};

/// Of b2frame's subcommand, or of b2frame itself where it is empty.
HelpText help_of_b2frame(const std::string& subcommand);
HelpText help_of_bloscfs();
/// Of bloscfs as mount(8) calls it.
HelpText help_of_mount_helper();
/// Of each subcommand.
std::vector<HelpText> help_of_subcommands();

}  // namespace bloscfs::test
