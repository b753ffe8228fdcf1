// Tests `ls`, which prints a line for each frame: what it contains, and how it is stored.

#include <sstream>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

std::vector<std::vector<std::string>> table_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

using Row = std::vector<std::string>;

/// A directory with one frame of each kind, and files that are not frames.
struct LsFrames {
  LsFrames() {
    write_file(home / "array.b2nd", array_frame(make_contents("ramp", 1, 24, 4), {2, 3}, "<i4", 4));
    Cut wide;
    wide.typesize = 8;
    write_file(home / "flat.b2frame", flat_frame(ByteVector(80000, 7), wide));
    write_file(home / "old.blp", bloscpack_file(ByteVector(1000, 1), 500));
    write_file(home / "plain.txt", std::string_view("no frame"));
    fs_std::create_directory(home / "deep");
    write_sparse_frame(home / "deep/s.b2frame", make_contents("text", 1, 20000, 1));
  }
  std::string at(const std::string& name) const { return (home / name).string(); }
  std::string directory() const { return home.path().string(); }

  TempDir home;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_ls)

BOOST_AUTO_TEST_CASE(tells_shape_dtype_codec_and_sizes_in_aligned_columns) {
  const LsFrames frames;
  const ProcessResult result = b2frame({"ls", frames.directory()});
  BOOST_TEST(result.ok(), result.description());
  const auto rows = table_of(result.out);
  BOOST_TEST_REQUIRE(rows.size() == 6u, result.out);
  BOOST_TEST(rows[0] == (Row{"SHAPE", "DTYPE", "CODEC", "FILTERS", "CONTENTS", "STORED", "RATIO",
                             "MODIFIED", "NAME"}));
  const auto stored = [&](const char* name) {
    return std::to_string(fs_std::file_size(frames.home / name));
  };
  const auto begins = [](const Row& row, const Row& start) {
    return Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(start.size())) == start;
  };
  const json array = info_of(frames.home / "array.b2nd");
  BOOST_TEST(begins(rows[1], {"2,3", "<i4",
                              array.at("codec").get<std::string>() + "-" +
                                  std::to_string(array.at("clevel").get<int>()),
                              "none", "24", stored("array.b2nd")}),
             result.out);
  BOOST_TEST(
      (Row(rows[1].end() - 3, rows[1].end()) == Row{frames.at("array.b2nd"), "->", "array.npy"}));
  BOOST_TEST(rows[2].back() == frames.at("deep/"));
  BOOST_TEST(rows[2].front() == "-");
  BOOST_TEST(rows[3].front() == "10000");
  BOOST_TEST(rows[3].at(1) == "8");
  BOOST_TEST(begins(rows[4], {"1000", "1", "-", "-", "1000", stored("old.blp")}), result.out);
  BOOST_TEST(begins(rows[5], {"-", "-", "-", "-", "8", "8"}), result.out);
  std::istringstream lines(result.out);
  std::size_t column = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = column == 0 ? line.rfind(' ') + 1 : line.find(frames.directory());
    if (column == 0) column = name;
    BOOST_TEST(name == column, line);
  }
}

BOOST_AUTO_TEST_CASE(enters_directories_only_when_asked_and_sorts_by_name) {
  const LsFrames frames;
  const ProcessResult result = b2frame({"ls", "-R", "--json", frames.directory()});
  BOOST_TEST(result.ok(), result.description());
  std::vector<std::string> names;
  std::istringstream lines(result.out);
  json sparse;
  for (std::string line; std::getline(lines, line);) {
    const json found = json::parse(line);
    names.push_back(found.at("file"));
    if (found.at("kind") == "sframe") sparse = found;
  }
  BOOST_TEST(names ==
             (std::vector<std::string>{frames.at("array.b2nd"), frames.at("deep/s.b2frame"),
                                       frames.at("flat.b2frame"), frames.at("old.blp"),
                                       frames.at("plain.txt")}));
  std::uintmax_t stored = 0;
  for (const auto& file : fs_std::directory_iterator(frames.home / "deep/s.b2frame"))
    stored += file.file_size();
  BOOST_TEST(sparse.at("stored") == stored);
  BOOST_TEST(sparse.at("contents") == 20000);
}

BOOST_AUTO_TEST_CASE(shows_the_others_beside_what_cannot_be_read) {
  const LsFrames frames;
  ByteVector broken = read_file(frames.home / "array.b2nd");
  broken.resize(broken.size() - 1);
  write_file(frames.home / "broken.b2nd", broken);
  const ProcessResult result =
      b2frame({"ls", frames.at("nowhere"), frames.directory(), frames.at("plain.txt")});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(table_of(result.out).size() == 7u, result.out);
  for (const char* name : {"nowhere", "broken.b2nd", "plain.txt"})
    BOOST_TEST(result.err.find("b2frame: " + frames.at(name) + ": ") != std::string::npos,
               result.err);
  const ProcessResult as_json = b2frame({"ls", "--json", frames.at("broken.b2nd")});
  BOOST_TEST(as_json.status == 1);
  BOOST_TEST(json::parse(as_json.out).at("status") == "damaged");
}

BOOST_AUTO_TEST_CASE(sizes_for_people_have_units) {
  const LsFrames frames;
  const ProcessResult result = b2frame({"ls", "-h", frames.at("flat.b2frame")});
  BOOST_TEST(table_of(result.out).at(1).at(4) == "78.1K", result.out);
}

BOOST_AUTO_TEST_SUITE_END()
