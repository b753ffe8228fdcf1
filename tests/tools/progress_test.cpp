// The progress line of b2frame, and the summary that stays when it is done.

#include "tools/progress.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

using tools::Progress;
using tools::progress_line;
using tools::ProgressState;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// Returns what b2frame writes to a terminal with this number of columns.
std::string on_terminal(int columns, const std::string& arguments) {
  const std::string command =
      "stty cols " + std::to_string(columns) + "; " + B2FRAME + " " + arguments;
  const ProcessResult result = run({"script", "-qec", command, "/dev/null"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  return result.out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(line_fits_and_drops_what_is_least_needed) {
  const ProgressState state{"extract", "data/results/temperature/2026/run-0001.b2nd", 300 * kMiB,
                            1200 * kMiB, 100.0 * kMiB};
  BOOST_TEST(progress_line(state, 120) ==
             "extract   25 %  300 MiB of 1.2 GiB  100 MiB/s  0:09 left  "
             "data/results/temperature/2026/run-0001.b2nd");
  BOOST_TEST(progress_line(state, 79) ==
             "extract   25 %  300 MiB of 1.2 GiB  100 MiB/s  0:09 left  ...2026/run-0001.b2nd");
  BOOST_TEST(progress_line(state, 40) == "extract   25 %  300 MiB of 1.2 GiB");
  BOOST_TEST(progress_line(state, 16) == "extract   25 %");
  BOOST_TEST(progress_line(state, 5) == "extra");
  for (std::size_t columns = 0; columns < 130; columns++)
    BOOST_TEST(progress_line(state, columns).size() <= columns);
}

BOOST_AUTO_TEST_CASE(line_of_one_file_has_a_bar) {
  ProgressState state{"verify", "", 3, 4, 1, Progress::Unit::items};
  BOOST_TEST(progress_line(state, 60) ==
             "verify   75 %  3 of 4  0:01 left  [##################------]");
  state.total = 0;
  BOOST_TEST(progress_line(state, 60) == "verify  3");
}

BOOST_AUTO_TEST_CASE(names_are_cut_between_characters_and_cannot_move_the_cursor) {
  ProgressState state{
      "x", "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5, 0, 0, Progress::Unit::items};
  BOOST_TEST(progress_line(state, 14) == "x  5  ...\xc3\xa4\xc3\xa4");
  state.file = "a\r\x1b[2Jb";
  BOOST_TEST(progress_line(state, 60) == "x  5  a\\x0d\\x1b[2Jb");
}

BOOST_AUTO_TEST_CASE(summary_stays_on_a_terminal_and_only_there) {
  const TempDir scratch;
  const std::string in = (scratch / "in").string();
  fs_std::create_directory(in);
  for (const char* name : {"a", "b", "c"})
    write_file(fs_std::path(in) / name, make_contents("zeros", 1, 1 << 20, 1));
  const std::string out = (scratch / "out").string();
  const std::string made = on_terminal(40, "create -r " + quoted(in) + " -o " + quoted(out));
  BOOST_TEST(made.find("create: 3 files, 3.0 MiB in, ") != std::string::npos, made);
  BOOST_TEST(made.find(" out, ratio ") != std::string::npos, made);
  const std::string verified = on_terminal(40, "verify -r " + quoted(out));
  BOOST_TEST(verified.find("verify: 3 files, ") != std::string::npos, verified);
  const std::string one = quoted(out + "/a.b2frame");
  const std::string back = on_terminal(40, "extract " + one + " -o " + quoted(in + "/d"));
  BOOST_TEST(back.find("extract: 1 file, ") != std::string::npos, back);
  BOOST_TEST(b2frame({"verify", "-r", out}).err.empty());
  write_file(scratch / "t.csv", std::string_view("a,b\n1,2\n"));
  const auto at = [&](const char* name) { return quoted((scratch / name).string()); };
  const auto is_summed_up = [](const std::string& command, const std::string& summary) {
    const std::string told = on_terminal(80, command);
    BOOST_TEST(told.find(summary) != std::string::npos, told);
  };
  is_summed_up("create " + at("t.csv") + " -o " + at("t.b2z"), "create: 1 file, 8 B in, ");
  is_summed_up("extract " + at("t.b2z") + " -o " + at("back.csv"), "extract: 1 file, 8 B out, ");
  is_summed_up("diff " + at("t.b2z") + " " + at("t.b2z"), "diff: 2 files, ");
  is_summed_up("diff " + one + " " + one, "diff: 2 files, ");
  is_summed_up("compact " + one, "compact: 1 file, ");
  is_summed_up("unpack " + at("t.b2z") + " -o " + at("t.b2d"), "unpack: 1 file, ");
  is_summed_up("pack " + at("t.b2d") + " -o " + at("u.b2z"), "pack: 1 file, ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
