// The commands in README.md and GUIDE.md must print what is shown there.

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <boost/algorithm/string/replace.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/help_text.hpp"

namespace {

using namespace bloscfs::test;

struct ShownCommand {
  std::string line, output;
};

std::vector<std::string> lines_of(const char* document) {
  std::ifstream stream(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / document);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns the commands behind "    $ ", each with the indented lines that follow it.
std::vector<ShownCommand> shown_commands(const char* document) {
  const std::string indent = "    ", prompt = "    $ ";
  std::vector<ShownCommand> commands;
  bool is_output = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with(prompt))
      commands.push_back({line.substr(prompt.size()), ""});
    else if (is_output && line.starts_with(indent))
      commands.back().output += line.substr(indent.size()) + "\n";
    is_output = line.starts_with(prompt) || (is_output && line.starts_with(indent));
  }
  return commands;
}

/// A directory in place of the documents' /tmp. The destructor unmounts the mounts in it.
class TourPlace {
 public:
  ~TourPlace() {
    for (const char* name : {"mnt", "cases"}) force_unmount(home_ / name);
  }

  ProcessResult run_shown(const std::string& line) const {
    const std::string tools = fs_std::path(bloscfs_program()).parent_path().string(),
                      python = fs_std::path(numpy_python()).parent_path().string();
    ProcessSettings settings;
    settings.environment = {"PATH=" + tools + ":" + python + ":" + std::getenv("PATH"),
                            "PYTHONPATH=" BLOSCFS_TEST_SOURCE_ROOT "/tools/python",
                            "PYTHONDONTWRITEBYTECODE=1"};
    return run({"bash", "-c", "cd '" BLOSCFS_TEST_SOURCE_ROOT "' && " + here(line)}, settings);
  }
  std::string here(const std::string& text) const {
    return boost::replace_all_copy(text, "/tmp/", home_.path().string() + "/");
  }

 private:
  TempDir home_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(readme)

BOOST_AUTO_TEST_CASE(what_it_shows_can_be_followed,
                     *boost::unit_test::precondition(needs_numpy) *
                         boost::unit_test::precondition(needs_programs("getfattr flock"))) {
  for (const char* document : {"README.md", "GUIDE.md"}) {
    const TourPlace place;
    const std::vector<ShownCommand> commands = shown_commands(document);
    BOOST_TEST(!commands.empty());
    for (const ShownCommand& command : commands) {
      const ProcessResult result = place.run_shown(command.line);
      BOOST_TEST(result.ok(), command.line << ": " << result.description());
      BOOST_TEST(result.out == place.here(command.output), command.line << ":\n" << result.out);
      BOOST_TEST(result.err == "", command.line << ": " << result.err);
    }
  }
}

BOOST_AUTO_TEST_CASE(it_tells_what_each_subcommand_is_for) {
  std::string text;
  for (const std::string& line : lines_of("README.md")) text += line + "\n";
  for (const HelpText& help : help_of_subcommands())
    BOOST_TEST(text.find("`b2frame " + help.subcommand + " ") != std::string::npos,
               "README.md has no row for b2frame " << help.subcommand);
}

BOOST_AUTO_TEST_SUITE_END()
