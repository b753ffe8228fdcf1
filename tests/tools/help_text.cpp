#include "tests/tools/help_text.hpp"

#include <sstream>
#include <stdexcept>

#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Adds the options in one line, such as "-r, --recursive  Read all frames".
void add_flags(const std::string& line, HelpText& help) {
  for (const std::string& word : words_of(line.substr(0, line.find("  ", 2)))) {
    const std::string name = word.substr(0, word.find(','));
    if (name.starts_with('-')) help.flags.insert(name);
  }
}

void add_row(const std::string& section, const std::string& line, HelpText& help) {
  const std::string name = words_of(line).front();
  const bool is_continued = line.starts_with("   ");
  if (section == "Examples")
    help.examples.push_back(line.substr(2));
  else if (section.starts_with("As in"))
    for (const std::string& word : words_of(line))
      help.mount_options.insert(word.substr(0, word.find('=')));
  else if (is_continued)
    return;
  else if (section == "Mount options")
    help.mount_options.insert(name.substr(0, name.find('=')));
  else if (name.starts_with('-'))
    add_flags(line, help);
  else if (std::isupper(static_cast<unsigned char>(name.front())) != 0)
    help.arguments.push_back(name);
  else
    help.subcommands.push_back(name);
}

HelpText help_of(Arguments command) {
  HelpText help;
  command.push_back("--help");
  for (const std::string& word : command) help.command += word.substr(word.rfind('/') + 1) + " ";
  const ProcessResult result = run(command);
  if (!result.ok()) throw std::runtime_error(help.command + result.description());
  help.text = result.out;
  std::istringstream stream(help.text);
  std::string section;
  for (std::string line; std::getline(stream, line);) {
    help.lines.push_back(line);
    if (!line.starts_with("  "))
      section = line.substr(0, line.find(':'));
    else
      add_row(section, line, help);
  }
  return help;
}

}  // namespace

HelpText help_of_b2frame(const std::string& subcommand) {
  Arguments command{b2frame_program()};
  if (!subcommand.empty()) command.push_back(subcommand);
  HelpText help = help_of(command);
  help.subcommand = subcommand;
  return help;
}

HelpText help_of_bloscfs() { return help_of({bloscfs_program()}); }

HelpText help_of_mount_helper() {
  const TempDir home;
  const fs_std::path helper = home / "mount.bloscfs";
  create_symlink(bloscfs_program(), helper);
  return help_of({helper.string()});
}

std::vector<HelpText> help_of_subcommands() {
  std::vector<HelpText> all;
  for (const std::string& name : help_of_b2frame("").subcommands)
    all.push_back(help_of_b2frame(name));
  return all;
}

}  // namespace bloscfs::test
