// Tests `ls`, `info` and `verify` on trees.

#include <algorithm>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

ByteVector damaged(ByteVector frame) {
  // These bytes are behind the header and the block starts of its only chunk.
  for (std::size_t at = 160; at < 200; at++) frame.at(at) ^= 0x5a;
  return frame;
}

/// A tree of valid frames, to which tests can add more.
struct Tree {
  Tree() {
    fs_std::create_directories(root / "b/deep");
    write_file(root / "a.b2frame", frame);
    write_file(root / "b/plain.txt", std::string_view("no frame"));
    write_file(root / "b/deep/c.b2frame", frame);
    write_sparse_frame(root / "b/s.b2frame", text);
    fs_std::create_directory_symlink("..", root / "b/up");
    fs_std::create_symlink("../a.b2frame", root / "b/link.b2frame");
  }
  std::string at(const std::string& name) const { return (root / name).string(); }

  TempDir root;
  const ByteVector text = make_contents("text", 1, 20000, 1);
  const ByteVector frame = flat_frame(text);
};

std::vector<json> objects_in(const std::string& text) {
  std::vector<json> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) values.push_back(json::parse(line));
  return values;
}

std::vector<std::string> texts_of(const std::vector<json>& lines, const char* key) {
  std::vector<std::string> texts;
  for (const json& line : lines) texts.push_back(line.at(key));
  return texts;
}

using Texts = std::vector<std::string>;

/// Returns the last line of verify -r for frames of which `count` have no checksums.
std::string without_checksums(int count, int frames) {
  return fmt::format(
      "{} of {} frames have no checksums, so changed bytes can decode unnoticed; b2frame "
      "verify --json names them, b2frame convert --checksum --in-place adds checksums\n",
      count, frames);
}

/// Returns names whose order is that of the numbers.
std::string file_name(int number) {
  const std::string digits = std::to_string(1000 + number);
  return digits + ".b2frame";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_on_trees)

BOOST_AUTO_TEST_CASE(verify_finds_all_frames_once_and_in_order) {
  const Tree tree;
  const ProcessResult quiet = b2frame({"verify", "-r", tree.root.path().string()});
  BOOST_TEST(quiet.ok(), quiet.description());
  BOOST_TEST(quiet.out + quiet.err == without_checksums(3, 3));
  const ProcessResult told = b2frame({"verify", "-r", "--json", tree.root.path().string()});
  BOOST_TEST(told.ok(), told.description());
  const auto lines = objects_in(told.out);
  BOOST_TEST(texts_of(lines, "file") ==
                 (Texts{tree.at("a.b2frame"), tree.at("b/deep/c.b2frame"), tree.at("b/s.b2frame")}),
             boost::test_tools::per_element());
  BOOST_TEST(texts_of(lines, "status") == (Texts{"ok", "ok", "ok"}),
             boost::test_tools::per_element());
}

// Otherwise a timer would succeed while the disk with the frames is not mounted.
BOOST_AUTO_TEST_CASE(verify_fails_if_it_finds_no_frame) {
  const TempDir empty;
  for (const bool has_plain_file : {false, true}) {
    if (has_plain_file) write_file(empty / "plain.txt", std::string_view("text"));
    const ProcessResult result = b2frame({"verify", "-r", empty.path().string()});
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.find("no frames found") != std::string::npos, result.err);
  }
}

BOOST_AUTO_TEST_CASE(verify_counts_frames_without_checksums) {
  const Tree tree;
  const std::string path = tree.at("b/deep/c.b2frame");
  BOOST_TEST(b2frame({"convert", "--in-place", "--checksum", path}).ok());
  const ProcessResult mixed = b2frame({"verify", "-r", tree.root.path().string()});
  BOOST_TEST(mixed.ok(), mixed.description());
  BOOST_TEST(mixed.out + mixed.err == without_checksums(2, 3));
  const ProcessResult checked = b2frame({"verify", "-r", tree.at("b/deep")});
  BOOST_TEST(checked.out + checked.err == "");
  const ProcessResult told = b2frame({"verify", "-r", "--json", tree.root.path().string()});
  std::vector<bool> checksums;
  for (const json& line : objects_in(told.out)) checksums.push_back(line.at("checksums"));
  BOOST_TEST(checksums == (std::vector<bool>{false, true, false}),
             boost::test_tools::per_element());
  const ProcessResult one = b2frame({"verify", tree.at("a.b2frame")});
  BOOST_TEST(one.out + one.err == "");
  const ProcessResult whole = b2frame({"verify", "--repairable", path});
  BOOST_TEST(whole.out.find("20000 of 20000 bytes are intact") != std::string::npos, whole.out);
  const ProcessResult decoded = b2frame({"verify", "--repairable", tree.at("a.b2frame")});
  BOOST_TEST(decoded.out.find("20000 of 20000 bytes can be decoded") != std::string::npos,
             decoded.out);
}

BOOST_AUTO_TEST_CASE(verify_tells_damage_from_what_is_missing_here) {
  const Tree tree;
  write_file(tree.root / "b/odd.b2frame", with_unknown_codec(tree.frame));
  ProcessResult result = b2frame({"verify", "-r", tree.root.path().string()});
  BOOST_TEST(result.status == 3, result.description());
  BOOST_TEST(result.err == "b2frame: " + tree.at("b/odd.b2frame") +
                               ": unsupported: chunk 0: codec codec254 is not supported\n");
  BOOST_TEST(result.out == without_checksums(4, 4));
  write_file(tree.root / "b/bad.b2frame", damaged(tree.frame));
  ByteVector cut = tree.frame;
  cut.resize(cut.size() / 2);
  write_file(tree.root / "cut.b2frame", cut);
  result = b2frame({"verify", "-r", "--json", tree.root.path().string()});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err == "");
  const auto lines = objects_in(result.out);
  BOOST_TEST(
      texts_of(lines, "status") == (Texts{"ok", "damaged", "ok", "unsupported", "ok", "damaged"}),
      boost::test_tools::per_element());
  BOOST_TEST(lines.at(1).at("problems").at(0).at("part") == "chunk 0");
  BOOST_TEST(lines.at(1).at("problem_count") == 1);
  BOOST_TEST(lines.at(3).at("problems").at(0).at("reason") == "codec codec254 is not supported");
}

BOOST_AUTO_TEST_CASE(verify_takes_files_beside_trees_and_names_what_was_named) {
  const Tree tree;
  const std::string plain = tree.at("b/plain.txt");
  const ProcessResult result = b2frame({"verify", "-r", plain, tree.at("b/deep"), "/nonexistent"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err == "b2frame: " + plain +
                               ": neither a Blosc2 frame nor a Bloscpack file\n"
                               "b2frame: /nonexistent: No such file or directory\n");
  BOOST_TEST(result.out == without_checksums(1, 1));
}

BOOST_AUTO_TEST_CASE(verify_of_an_unreadable_file_has_its_own_status,
                     *boost::unit_test::precondition(needs_build_for_nobody)) {
  const Tree tree;
  fs_std::permissions(tree.root.path(), fs_std::perms(0755));
  fs_std::permissions(tree.root / "a.b2frame", fs_std::perms(0));
  fs_std::permissions(tree.root / "b/deep", fs_std::perms(0));
  ProcessSettings settings;
  settings.uid = 65534;
  const ProcessResult result = run({B2FRAME, "verify", "-r", tree.root.path().string()}, settings);
  BOOST_TEST(result.status == 4, result.description());
  BOOST_TEST(result.err == "b2frame: " + tree.at("a.b2frame") + ": Permission denied\n" +
                               "b2frame: " + tree.at("b/deep") + ": Permission denied\n");
  BOOST_TEST(result.out == without_checksums(1, 1));
  const ProcessResult listed = run({B2FRAME, "ls", "--json", tree.root.path().string()}, settings);
  BOOST_TEST(objects_in(listed.out).at(0).at("status") == "unreadable", listed.out);
}

BOOST_AUTO_TEST_CASE(order_is_the_same_whatever_the_files_cost) {
  const TempDir root;
  Texts names;
  const ByteVector large = flat_frame(make_contents("text", 1, 2000000, 1));
  for (int i = 0; i < 400; i++) {
    names.push_back((root / file_name(i)).string());
    write_file(names.back(), i % 50 == 0 ? large : damaged(flat_frame(std::string(20000, 'x'))));
  }
  const ProcessResult result = b2frame({"verify", "-r", "--json", root.path().string()});
  BOOST_TEST(texts_of(objects_in(result.out), "file") == names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(info_describes_all_frames_of_a_tree) {
  const Tree tree;
  write_file(tree.root / "b/odd.b2frame", with_unknown_codec(tree.frame));
  const ProcessResult result = b2frame({"info", "-r", "--json", tree.root.path().string()});
  BOOST_TEST(result.ok(), result.description());
  const auto lines = objects_in(result.out);
  BOOST_TEST(texts_of(lines, "file") == (Texts{tree.at("a.b2frame"), tree.at("b/deep/c.b2frame"),
                                               tree.at("b/odd.b2frame"), tree.at("b/s.b2frame")}),
             boost::test_tools::per_element());
  BOOST_TEST(lines.at(2).at("unsupported") == "codec codec254 is not supported");
  BOOST_TEST(!lines.at(0).contains("unsupported"));
  BOOST_TEST(lines.at(3).at("kind") == "sframe");
}

BOOST_AUTO_TEST_CASE(ls_shows_stores_as_a_mount_does) {
  const fs_std::path stores = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/stores";
  const TempDir root;
  fs_std::create_directory(root / "s.b2d");
  fs_std::copy(stores / "embed0.b2e", root / "s.b2d/embed.b2e");
  fs_std::copy(stores / "dict.b2z", root / "dict.b2z");
  const std::string directory = root.path().string();
  const ProcessResult flat = b2frame({"ls", directory});
  BOOST_TEST(flat.out.find(directory + "/dict.b2z/ -> dict/\n") != std::string::npos, flat.out);
  BOOST_TEST(flat.out.find("leaf9") == std::string::npos, flat.out);
  const auto lines = objects_in(b2frame({"ls", "-R", "--json", directory}).out);
  const Texts shown = texts_of(lines, "shown");
  for (const char* name : {"/dict/dir1/b", "/s/x12/leaf9.npy"})
    BOOST_TEST(std::count(shown.begin(), shown.end(), directory + name) == 1, name);
  const auto leaf = std::find_if(lines.begin(), lines.end(), [&](const json& line) {
    return line.at("shown") == directory + "/s/x12/leaf9.npy";
  });
  BOOST_TEST_REQUIRE((leaf != lines.end()));
  BOOST_TEST(leaf->at("file") == directory + "/s.b2d:/x12/leaf9");
  BOOST_TEST(leaf->at("status") == "ok");
}

BOOST_AUTO_TEST_CASE(ls_marks_what_cannot_be_read_and_goes_on) {
  const Tree tree;
  write_file(tree.root / "b/odd.b2frame", with_unknown_codec(tree.frame));
  ByteVector cut = tree.frame;
  cut.resize(cut.size() / 2);
  write_file(tree.root / "b/cut.b2frame", cut);
  const ProcessResult result = b2frame({"ls", "-R", tree.root.path().string()});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(
      result.err.find("b2frame: " + tree.at("b/odd.b2frame") +
                      ": unsupported: codec codec254 is not supported\n") != std::string::npos,
      result.err);
  BOOST_TEST(result.err.find("b2frame: " + tree.at("b/cut.b2frame") + ": ") != std::string::npos);
  const auto lines = objects_in(b2frame({"ls", "-R", "--json", tree.root.path().string()}).out);
  BOOST_TEST(texts_of(lines, "file") ==
                 (Texts{tree.at("a.b2frame"), tree.at("b/cut.b2frame"), tree.at("b/deep/c.b2frame"),
                        tree.at("b/link.b2frame"), tree.at("b/odd.b2frame"), tree.at("b/plain.txt"),
                        tree.at("b/s.b2frame"), tree.at("b/up")}),
             boost::test_tools::per_element());
  BOOST_TEST(texts_of(lines, "status") ==
                 (Texts{"ok", "damaged", "ok", "ok", "unsupported", "ok", "ok", "ok"}),
             boost::test_tools::per_element());
  BOOST_TEST(lines.at(1).contains("reason"));
  BOOST_TEST(lines.at(4).at("shown") == tree.at("b/odd"));
  BOOST_TEST(lines.at(5).at("kind") == "plain");
  BOOST_TEST(lines.at(7).at("kind") == "symlink");
  BOOST_TEST(lines.at(0).at("contents") == 20000);
}

BOOST_AUTO_TEST_SUITE_END()
