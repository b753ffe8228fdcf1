// Tests the layout of --help, and the messages about unknown words.

#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/tools/help_text.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

constexpr std::size_t kScreenLines = 24, kScreenColumns = 80;

void check_layout(const HelpText& help) {
  for (const std::string& line : help.lines)
    BOOST_TEST(line.size() <= kScreenColumns, help.command << ": " << line);
  BOOST_TEST(help.flags.contains("--help"), help.command);
  BOOST_TEST(!help.examples.empty(), help.command << ": has no examples");
  BOOST_TEST(help.examples.size() <= 3u, help.command);
  if (!help.examples.empty())
    BOOST_TEST(help.lines.back() == "  " + help.examples.back(), help.command);
}

/// Checks that the options in the examples are options of the subcommand.
void check_examples(const HelpText& help) {
  for (const std::string& example : help.examples) {
    std::istringstream words(example.substr(0, example.find_first_of("|")));
    for (std::string word; words >> word;)
      if (word.starts_with('-') && word != "-")
        BOOST_TEST(help.flags.contains(word), example << ": " << word);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(help)

BOOST_AUTO_TEST_CASE(fits_on_a_screen_and_ends_with_examples) {
  const HelpText whole = help_of_b2frame("");
  check_layout(whole);
  BOOST_TEST(whole.lines.size() <= kScreenLines);
  const auto subcommands = help_of_subcommands();
  BOOST_TEST(subcommands.size() >= 12u);
  for (const HelpText& help : subcommands) {
    check_layout(help);
    check_examples(help);
    BOOST_TEST(help.text.find("\nExit status: ") != std::string::npos, help.command);
    // CLI11 2.4 refuses arguments with such names, and the program does not start.
    const std::string usage = help.lines.at(0).substr(std::string("Usage:").size());
    BOOST_TEST(usage.find_first_of("=:{") == std::string::npos, usage);
    const bool has_most =
        help.subcommand == "create" || help.subcommand == "convert" || help.subcommand == "extract";
    BOOST_TEST(help.lines.size() <= kScreenLines + (has_most ? 13 : 0), help.command);
  }
}

BOOST_AUTO_TEST_CASE(begins_with_the_arguments_that_are_required_and_optional) {
  for (const char* usage :
       {"pack DIR -o OUT", "compact FILE...",
        "convert [OPTION]... FILE... (-o OUT | -d DIR | --in-place)",
        "ls [OPTION]... [FILE|DIR]...", "repair [OPTION]... FILE -o OUT", "cat [OPTION]... FILE"}) {
    const std::string line = usage;
    BOOST_TEST(help_of_b2frame(line.substr(0, line.find(' '))).lines.front() ==
               "Usage: b2frame " + line);
  }
}

BOOST_AUTO_TEST_CASE(of_mounting_ends_with_examples) {
  const HelpText help = help_of_bloscfs();
  check_layout(help);
  BOOST_TEST(help.mount_options.contains("cache_size"));
  BOOST_TEST(help.mount_options.contains("remount"));
}

BOOST_AUTO_TEST_CASE(unknown_words_suggest_the_nearest_ones) {
  const auto says = [](const Arguments& arguments, const std::string& words) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.status == 2);
    BOOST_TEST(result.err.find(words) != std::string::npos, result.err);
  };
  says({"verfy", "x"}, "unknown subcommand verfy (did you mean verify?)");
  says({"info", "--jsno", "x"}, "unknown option --jsno (did you mean --json?)");
  says({"create", "--clevl=3"}, "unknown option --clevl=3 (did you mean --clevel?)");
  says({"--verison"}, "(did you mean --version?)");
  says({"cat", "a", "b"}, "one argument too many: b\nTry 'b2frame cat --help'.");
  says({"create", "-r", "data", "frames"}, "the option -o is missing: -o frames\n");
  says({"extract", "-r", "frames", "data"}, "the option -o is missing: -o data\n");
  says({"extract", "a", "-o", "b", "c"}, "one argument too many: c\n");
  says({"frobnicate"}, "unknown subcommand frobnicate\n");
  says({"cat", "a", "-n"}, "--count needs a value: N\n");
  const ProcessResult mounting = run({bloscfs_program(), "--hepl", "a", "b"});
  BOOST_TEST(mounting.status == 2);
  BOOST_TEST(mounting.err.find("(did you mean --help?)") != std::string::npos, mounting.err);
  const ProcessResult option = run({bloscfs_program(), "--cache-size", "1G", "a", "b"});
  BOOST_TEST(option.err.find("--cache-size (did you mean -o cache_size=?)") != std::string::npos,
             option.err);
  const ProcessResult unmounting = run({bloscfs_program(), "--unmount"});
  BOOST_TEST(unmounting.status == 2);
  BOOST_TEST(unmounting.err.find("--unmount needs a value: MNT\n") != std::string::npos,
             unmounting.err);
}

BOOST_AUTO_TEST_CASE(sizes_have_units_and_lists_of_filters_two_forms) {
  const TempDir home;
  const std::string text = (home / "text").string();
  std::ofstream(text) << std::string(5000, 'x') << "end";
  for (const char* filters : {"delta+shuffle", "delta,shuffle"}) {
    const std::string frame = (home / "text.b2frame").string();
    const ProcessResult made = b2frame({"create", "--filters", filters, "--typesize", "4",
                                        "--chunk-size", "4K", text, "-o", frame});
    BOOST_TEST(made.ok(), made.description());
    BOOST_TEST(info_of(frame).at("filters").size() == 2u);
    const ProcessResult part =
        b2frame({"extract", "--offset", "4K", "--length", "1T", frame, "-o", "-"});
    BOOST_TEST(part.out == std::string(904, 'x') + "end");
  }
}

BOOST_AUTO_TEST_SUITE_END()
