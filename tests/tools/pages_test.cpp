// The manual pages must name exactly what --help names.

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/help_text.hpp"
#include "tests/tools/page.hpp"

namespace {

using namespace bloscfs::test;

std::vector<fs_std::path> all_pages() {
  std::vector<fs_std::path> files;
  for (const auto& entry : fs_std::directory_iterator(pages_folder()))
    if (entry.path().extension() != ".build") files.push_back(entry.path());
  return files;
}

void check_equal(const std::set<std::string>& here, const std::set<std::string>& there,
                 const std::string& what) {
  for (const std::string& word : here) BOOST_TEST(there.contains(word), what << ": " << word);
}

/// Every option of the program needs an item in the page, and the program must know every option in
/// the page.
void check_flags(const Page& page, const HelpText& help) {
  check_equal(help.flags, page.listed_flags,
              "tools/pages/" + page.name + " has no .It Fl for what " + help.command + "names");
  check_equal(page.flags, help.flags, help.command + "does not name what its page has");
}

/// Checks the options in the command lines of examples.
void check_examples(const Page& page) {
  for (const std::string& line : page.literals) {
    std::istringstream words(line);
    std::string program, subcommand;
    words >> program >> subcommand;
    if (program != "b2frame") continue;
    const HelpText help = help_of_b2frame(subcommand);
    for (std::string word; words >> word && word != "|" && word != "||" && word != "#";)
      if (word.starts_with('-') && word != "-")
        BOOST_TEST(help.flags.contains(word), page.name << ": " << line << ": " << word);
  }
}

}  // namespace

// These tests decode no files, so a build with sanitizers would show nothing more.
BOOST_AUTO_TEST_SUITE(pages, *boost::unit_test::precondition(needs_plain_build))

BOOST_AUTO_TEST_CASE(each_subcommand_has_one_with_all_of_its_options) {
  const Page whole = read_page(pages_folder() / "b2frame.1");
  check_flags(whole, help_of_b2frame(""));
  std::set<std::string> names{"b2frame"};
  for (const HelpText& help : help_of_subcommands()) {
    const std::string name = "b2frame-" + help.subcommand;
    const fs_std::path file = pages_folder() / (name + ".1");
    names.insert(name);
    BOOST_TEST_CONTEXT(file) {
      BOOST_TEST(exists(file));
      BOOST_TEST(whole.listed_words.contains(help.subcommand), "b2frame.1 does not list it");
      BOOST_TEST(whole.references.contains(name), "b2frame.1 does not refer to it");
      if (exists(file)) check_flags(read_page(file), help);
    }
  }
  for (const fs_std::path& file : all_pages())
    if (file.stem().string().starts_with("b2frame"))
      BOOST_TEST(names.contains(file.stem().string()), file << ": there is no such subcommand");
}

BOOST_AUTO_TEST_CASE(that_of_mounting_has_all_mount_options) {
  const Page page = read_page(pages_folder() / "bloscfs.1");
  const HelpText help = help_of_bloscfs();
  check_flags(page, help);
  check_equal(help.mount_options, page.listed_words, "tools/pages/bloscfs.1 has no .It Cm for");
  check_equal(page.listed_words, help.mount_options, "bloscfs --help does not name");
}

BOOST_AUTO_TEST_CASE(that_of_mounting_has_the_defaults_of_the_help) {
  std::ifstream stream(pages_folder() / "bloscfs.1");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  const std::string help = help_of_bloscfs().text;
  const std::regex option(R"(\n  (\w+)=(?:[^(\n]|\n   )*\((\.?)(\w+?)(s?)\))");
  int checked = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    const std::string name = (*at)[1], dot = (*at)[2], value = (*at)[3];
    const bool is_time = (*at)[4].length() != 0;
    const std::size_t begin = page.find("\n.It Cm " + name + " ");
    BOOST_TEST_REQUIRE(begin != std::string::npos, name);
    const std::string item =
        page.substr(begin, std::min(page.find("\n.It Cm ", begin + 1), page.size()) - begin);
    const std::string shown = (dot.empty() ? "" : "\\.") + value + (is_time ? " seconds?" : "");
    const bool has_default =
        std::regex_search(item, std::regex("\\s" + shown + "\\s+(by default|\\(default\\))")) ||
        std::regex_search(item,
                          std::regex("\n.It Li " + shown + "\n[^.]*[^]*?This is the default"));
    BOOST_TEST(has_default, "bloscfs.1 does not say that " << name << " is " << value
                                                           << " by default:\n"
                                                           << item);
    checked++;
  }
  BOOST_TEST(checked == 14);
}

BOOST_AUTO_TEST_CASE(that_of_the_helper_of_mount_has_all_of_its_options) {
  check_flags(read_page(pages_folder() / "mount.bloscfs.8"), help_of_mount_helper());
}

BOOST_AUTO_TEST_CASE(examples_are_command_lines_that_are_understood) {
  for (const fs_std::path& file : all_pages()) check_examples(read_page(file));
}

BOOST_AUTO_TEST_CASE(all_are_installed) {
  std::ifstream stream(pages_folder() / "meson.build");
  const std::string build{std::istreambuf_iterator<char>(stream), {}};
  for (const fs_std::path& file : all_pages())
    BOOST_TEST(build.find("'" + file.filename().string() + "'") != std::string::npos,
               "tools/pages/meson.build does not name " << file.filename());
}

BOOST_AUTO_TEST_CASE(man_has_nothing_to_say_against_them,
                     *boost::unit_test::precondition(has_programs("man"))) {
  for (const fs_std::path& file : all_pages()) {
    const ProcessResult result =
        run({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file.string()});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(result.err == "", file << ": " << result.err);
  }
}

BOOST_AUTO_TEST_CASE(mandoc_has_nothing_to_say_against_them,
                     *boost::unit_test::precondition(has_programs("mandoc"))) {
  for (const fs_std::path& file : all_pages()) {
    const ProcessResult result = run({"mandoc", "-Tlint", "-Wwarning", file.string()});
    BOOST_TEST(result.out == "", result.out);
  }
}

BOOST_AUTO_TEST_SUITE_END()
