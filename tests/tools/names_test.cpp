// How the programs print names that contain escape sequences.

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

const std::string kName = "\x1b[31m<\u009bred\nline";
constexpr const char* kShown = "\\x1b[31m<\\x9bred\\nline";

bool has_control_characters(const std::string& text) {
  return text.find('\x1b') != std::string::npos || text.find("\u009b") != std::string::npos ||
         text.find("red\n") != std::string::npos;
}

/// A directory with a file and a frame of such a name.
struct Home {
  Home() {
    write_file(file(), std::string_view("contents"));
    write_file(frame(), flat_frame(std::string("contents")));
  }
  std::string file() const { return path / kName; }
  std::string frame() const { return path / (kName + ".b2frame"); }
  std::string new_frame() const { return path / ("new" + kName); }
  TempDir path;
};

/// Returns what the program writes to a terminal.
std::string on_terminal(const Arguments& words) {
  const ProcessResult result =
      run(Arguments{"python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])", B2FRAME} + words);
  BOOST_TEST(result.ok(), result.description());
  return result.out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(are_shown_without_control_characters) {
  const Home home;
  for (const Arguments& words :
       {Arguments{"info", home.frame()}, Arguments{"info", home.file()},
        Arguments{"info", "--json", home.frame()}, Arguments{"ls", home.path.path()},
        Arguments{"ls", "--json", home.path.path()}, Arguments{"verify", home.frame()},
        Arguments{"verify", home.file()}, Arguments{"diff", home.frame(), home.file()},
        Arguments{"advise", home.file()}, Arguments{"repair", home.frame(), "-o", home.new_frame()},
        Arguments{"extract", home.frame(), "-o", home.file() + "/x"}, Arguments{"cat", home.file()},
        Arguments{"report", home.file(), "-o", home.new_frame()}, Arguments{kName},
        Arguments{"info", "--" + kName}, Arguments{"cat", "--dtype", kName, home.frame()}}) {
    const ProcessResult result = b2frame(words);
    BOOST_TEST(!has_control_characters(result.out), words.front() << ": " << result.out);
    BOOST_TEST(!has_control_characters(result.err), words.front() << ": " << result.err);
  }
}

BOOST_AUTO_TEST_CASE(of_a_dry_run_are_escaped_only_on_a_terminal) {
  const Home home;
  const TempDir out;
  const Arguments words{"create", "-r", "-n", home.path.path(), "-o", out.path()};
  const std::string shown = on_terminal(words);
  BOOST_TEST(!has_control_characters(shown), shown);
  BOOST_TEST(shown.find(kShown) != std::string::npos, shown);
  const ProcessResult read_by_script = b2frame(words);
  BOOST_TEST(read_by_script.out.find("/" + kName) != std::string::npos, read_by_script.out);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
