// Completions of command lines in shells. They must offer everything that --help names, and only
// values that the programs accept.

#include <algorithm>
#include <set>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"
#include "fs/options/option_values.hpp"
#include "fs/options/options.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/help_text.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using bloscfs::fs::parse_options;
using Words = std::set<std::string>;

std::string source_folder(const std::string& name) {
  return std::string(BLOSCFS_TEST_SOURCE_ROOT) + "/" + name;
}

/// Returns what a shell prints for `line`. The shell finds the built programs, and ignores the
/// user's settings.
std::string answer(const std::string& shell, const std::string& line) {
  const TempDir home;
  const std::string completions = source_folder("tools/completions");
  const std::string programs = fs_std::path(b2frame_program()).parent_path().string();
  ProcessSettings settings;
  settings.environment = {"PATH=" + programs + ":/usr/bin:/bin", "HOME=" + home.path().string(),
                          "XDG_CONFIG_HOME=" + home.path().string()};
  Arguments command{shell, source_folder("tests/tools/complete." + shell), completions, line};
  if (shell == "zsh") command.insert(command.begin() + 1, "-f");
  if (shell == "fish")
    command = {"fish",
               "--no-config",
               "-c",
               "source $argv[1]/b2frame.fish; source $argv[1]/bloscfs.fish; complete -C $argv[2]",
               completions,
               line};
  const ProcessResult result = run(command, settings);
  if (!result.ok()) throw std::runtime_error(line + ": " + result.description());
  return result.out;
}

/// Returns the words that a shell offers. For zsh these are all words on the terminal.
Words offered(const std::string& shell, const std::string& line) {
  std::istringstream lines(answer(shell, line));
  Words words;
  for (std::string row; std::getline(lines, row);) {
    std::istringstream columns(shell == "zsh" ? row : row.substr(0, row.find('\t')));
    for (std::string word; columns >> word;) words.insert(word);
  }
  return words;
}

/// Removes everything from the first "=" or ":" on.
Words names_of(const Words& words) {
  Words names;
  for (const std::string& word : words) names.insert(word.substr(0, word.find_first_of("=:")));
  return names;
}

void check_has(const Words& words, const Words& wanted, const std::string& what) {
  for (const std::string& word : wanted)
    BOOST_TEST(words.contains(word), what << " does not offer " << word);
}

void check_names(const std::string& shell) {
  const HelpText whole = help_of_b2frame("");
  check_has(offered(shell, "b2frame "), {whole.subcommands.begin(), whole.subcommands.end()},
            shell);
  for (const HelpText& help : help_of_subcommands()) {
    Words flags = help.flags;
    std::erase_if(flags, [](const std::string& flag) { return !flag.starts_with("--"); });
    check_has(offered(shell, "b2frame " + help.subcommand + " -"), flags,
              shell + " " + help.command);
  }
  check_has(names_of(offered(shell, "bloscfs -o ")), help_of_bloscfs().mount_options, shell);
}

Words names_of_codecs() {
  Words names;
  for (const auto& row : bloscfs::codec::codec_rows())
    if (row.make_compressor != nullptr) names.emplace(row.name);
  return names;
}

Words names_of_filters() {
  Words names{"none"};
  for (const auto& row : bloscfs::codec::filter_rows())
    if (row.apply != nullptr) names.emplace(row.name);
  return names;
}

void check_values_of_create(const std::string& shell) {
  check_has(names_of(offered(shell, "b2frame create --codec ")), names_of_codecs(), shell);
  check_has(offered(shell, "b2frame create --codec auto"), {"auto", "auto:ratio", "auto:speed"},
            shell);
  check_has(names_of(offered(shell, "b2frame create --filters ")), names_of_filters(), shell);
}

/// Returns complete values of `option`. Some shells print the option in front, which is removed.
Words complete_values(const std::string& shell, const std::string& option) {
  Words values;
  for (std::string value : offered(shell, "bloscfs -o ro," + option + "=")) {
    value = value.substr(value.rfind('=') + 1);
    values.insert(value.ends_with(':') ? value + "3" : value);
  }
  return values;
}

void check_values_of_mount_options(const std::string& shell) {
  for (const char* option :
       {"codec", "filters", "suffix", "sync", "sandbox", "unsupported", "clevel", "cache_size"}) {
    const Words values = complete_values(shell, option);
    BOOST_TEST(values.size() >= 2u, shell << ": " << option);
    for (const std::string& value : values)
      BOOST_CHECK_NO_THROW(parse_options({std::string(option) + "=" + value}));
  }
}

}  // namespace

// Shells do most of the work, so a build with sanitizers would show nothing more.
BOOST_AUTO_TEST_SUITE(completions, *boost::unit_test::precondition(needs_plain_build))

BOOST_AUTO_TEST_CASE(of_bash_name_what_help_names,
                     *boost::unit_test::precondition(has_programs("bash sed awk"))) {
  check_names("bash");
  check_values_of_create("bash");
  check_values_of_mount_options("bash");
}

BOOST_AUTO_TEST_CASE(of_bash_replace_what_follows_the_last_break,
                     *boost::unit_test::precondition(has_programs("bash sed awk"))) {
  BOOST_CHECK(offered("bash", "b2frame ver") == Words{"verify"});
  BOOST_CHECK(offered("bash", "b2frame create --filters delta,bits") == Words{"delta,bitshuffle"});
  BOOST_CHECK(offered("bash", "bloscfs -o ro,sync=s") == Words{"strict"});
  BOOST_CHECK(offered("bash", "bloscfs -o ro,cache") == Words{"ro,cache_size="});
  BOOST_CHECK(offered("bash", "b2frame info run").empty());
  BOOST_CHECK(offered("bash", "bloscfs --unm") == Words{"--unmount"});
}

BOOST_AUTO_TEST_CASE(of_fish_name_what_help_names,
                     *boost::unit_test::precondition(has_programs("fish"))) {
  check_names("fish");
  check_values_of_create("fish");
  check_values_of_mount_options("fish");
  BOOST_CHECK(offered("fish", "b2frame create --filters delta+bits") == Words{"delta+bitshuffle"});
  BOOST_CHECK(offered("fish", "bloscfs -o ro,sync=s") == Words{"ro,sync=strict"});
  BOOST_CHECK(offered("fish", "bloscfs --unm") == Words{"--unmount"});
}

BOOST_AUTO_TEST_CASE(of_zsh_name_what_help_names,
                     *boost::unit_test::precondition(has_programs("zsh sed"))) {
  check_names("zsh");
  check_values_of_create("zsh");
  const std::string shown = answer("zsh", "bloscfs -o ro,sandbox=");
  for (const char* value : {"auto", "off", "require"})
    BOOST_TEST(shown.find(value) != std::string::npos, shown);
  BOOST_TEST(answer("zsh", "b2frame verif").find("b2frame verify ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
