// Tests `diff`, which reports where two frames differ, however they are stored.

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

constexpr std::int64_t kRows = 300, kRow = 200;

/// Returns the elements of an array of kRows x kRow items of 4 bytes.
ByteVector elements() { return make_contents("ramp", 1, kRows * kRow * 4, 4); }

struct DiffFrames {
  std::string at(const std::string& name) const { return (home / name).string(); }
  std::string write(const std::string& name, const ByteVector& bytes) const {
    write_file(home / name, bytes);
    return at(name);
  }
  /// Makes an array with these options of `create`.
  std::string array(const std::string& name, const ByteVector& contents,
                    const Arguments& options = {}) const {
    const std::string npy =
        npy_header("<i4", {kRows, kRow}) + std::string(contents.begin(), contents.end());
    write_file(home / "x.npy", npy);
    const ProcessResult made =
        b2frame(Arguments{"create"} + options + Arguments{at("x.npy"), "-o", at(name)});
    BOOST_TEST(made.ok(), made.description());
    return at(name);
  }
  TempDir home;
};

/// Returns the output of `diff`, without the names that begin each line.
std::string difference(const Arguments& options, const std::string& a, const std::string& b,
                       int status) {
  const ProcessResult result = b2frame(Arguments{"diff"} + options + Arguments{a, b});
  BOOST_TEST(result.status == status, result.description());
  BOOST_TEST(result.err == "");
  std::string text = result.out;
  const std::string names = a + " " + b + " differ: ";
  for (std::size_t at = text.find(names); at != std::string::npos; at = text.find(names))
    text.erase(at, names.size());
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_diff)

BOOST_AUTO_TEST_CASE(finds_the_first_item_whatever_the_frames_are_stored_as) {
  const DiffFrames frames;
  ByteVector changed = elements();
  const auto change = [&](std::int64_t row, std::int64_t column) {
    changed[static_cast<std::size_t>((row * kRow + column) * 4)] ^= 1;
  };
  change(200, 3);
  change(120, 150);
  const std::string same = frames.array("same.b2nd", elements());
  const std::string small_chunks =
      frames.array("small.b2nd", elements(), {"--chunk-shape", "64,64", "--codec", "lz4"});
  const std::string sparse = frames.array("sparse.b2nd", elements(), {"--sparse"});
  const std::string wanted = "item [120, 150]: ";
  for (const Arguments& options :
       {Arguments{}, Arguments{"--chunk-shape", "64,64", "--codec", "lz4"},
        Arguments{"--chunk-shape", "7,200", "--sparse"}}) {
    const std::string other = frames.array("other.b2nd", changed, options);
    for (const std::string& one : {same, small_chunks, sparse}) {
      BOOST_TEST(difference({}, one, other, 1).starts_with(wanted));
      const std::string all = difference({"--all"}, other, one, 1);
      BOOST_TEST(all.starts_with(wanted), all);
      BOOST_TEST(all.ends_with("\n2 of 60000 items\n"), all);
      BOOST_TEST(difference({"-q"}, one, other, 1) == one + " and " + other + " differ\n");
    }
    fs_std::remove_all(other);
  }
  for (const std::string& one : {same, small_chunks, sparse})
    for (const std::string& other : {same, small_chunks, sparse})
      BOOST_TEST(difference({"--all"}, one, other, 0) == "");
}

BOOST_AUTO_TEST_CASE(compares_bloscpack_with_frames_also_in_fortran_order) {
  const DiffFrames frames;
  const ByteVector rows = bytes_of(std::string("\1\2\3\4\5\6", 6));
  const ByteVector columns = bytes_of(std::string("\1\4\2\5\3\7", 6));
  const std::string fortran =
      frames.write("f.blp", bloscpack_file(columns, 6,
                                           R"({"dtype": "'|u1'", "shape": [2, 3], "order": "F", )"
                                           R"("container": "numpy"})"));
  const std::string array = frames.write("a.b2nd", array_frame(rows, {2, 3}, "|u1", 1));
  BOOST_TEST(difference({}, fortran, array, 1) == "item [1, 2]: 7 and 6\n");
  const std::string flat = frames.write("b.blp", bloscpack_file(ByteVector(1000, 3), 300));
  BOOST_TEST(difference({}, flat, frames.write("c.b2frame", flat_frame(ByteVector(1000, 3))), 0) ==
             "");
}

BOOST_AUTO_TEST_CASE(tells_shapes_types_and_ends_that_differ) {
  const DiffFrames frames;
  const ByteVector bytes(24, 1);
  const std::string ints = frames.write("i.b2nd", array_frame(bytes, {2, 3}, "<i4", 4));
  const std::string floats = frames.write("f.b2nd", array_frame(bytes, {2, 3}, "<f4", 4));
  BOOST_TEST(difference({}, ints, floats, 1) == "dtype <i4 and <f4\n");
  const std::string wide = frames.write("w.b2nd", array_frame(bytes, {6}, "<i4", 4));
  BOOST_TEST(difference({}, ints, wide, 1) == "shape 2,3 and 6\n");
  const std::string one = frames.write("1.b2frame", flat_frame(bytes));
  Cut fours;
  fours.typesize = 4;
  const std::string four = frames.write("4.b2frame", flat_frame(bytes, fours));
  BOOST_TEST(difference({}, one, four, 0) == "");
  BOOST_TEST(difference({"--meta"}, one, four, 1).starts_with("typesize 1 and 4\n"));
  const std::string longer = frames.write("l.b2frame", flat_frame(ByteVector(25, 1)));
  BOOST_TEST(difference({}, one, longer, 1) == one + " ends after 24 bytes, the other has 25\n");
  const std::string scalar = frames.write("s.b2nd", array_frame(bytes_of("\1"), {}, "|u1", 1));
  const std::string other = frames.write("o.b2nd", array_frame(bytes_of("\2"), {}, "|u1", 1));
  BOOST_TEST(difference({}, scalar, other, 1) == "item []: 1 and 2\n");
  BOOST_TEST(difference({}, scalar, scalar, 0) == "");
}

/// A mount stores the conflict file of an array like this, and so does `b2frame recover`.
BOOST_AUTO_TEST_CASE(of_an_array_with_the_bytes_of_a_npy_file_says_how_to_compare) {
  const DiffFrames frames;
  const std::string array = frames.array("x.b2nd", elements());
  const std::string npy =
      frames.write("x.npy.conflict-1.b2frame", flat_frame(read_file(frames.at("x.npy"))));
  const std::string wanted =
      npy +
      " holds the bytes of a NPY file; write both to .npy files with b2frame extract, and "
      "compare these with cmp\n";
  BOOST_TEST(difference({}, array, npy, 1) == wanted);
  BOOST_TEST(difference({}, npy, array, 1) == wanted);
  for (const std::string& name : {array, npy})
    BOOST_TEST(b2frame({"extract", name, "-o", name + ".npy"}).ok());
  BOOST_TEST((read_file(array + ".npy") == read_file(npy + ".npy")));
}

BOOST_AUTO_TEST_CASE(shows_records_as_their_fields) {
  const DiffFrames frames;
  const std::string dtype = "[('a', '<i4'), ('b', '|u1')]";
  const auto record = [&](const std::string& name, std::uint8_t last) {
    return frames.write(name, array_frame({1, 0, 0, 0, last}, {1}, dtype, 5));
  };
  BOOST_TEST(difference({}, record("a.b2nd", 7), record("b.b2nd", 8), 1) ==
             "item [0]: 1 7 and 1 8\n");
}

BOOST_AUTO_TEST_CASE(metalayers_and_storage_count_only_when_asked) {
  const DiffFrames frames;
  const std::string one = frames.array("one.b2nd", elements());
  const std::string other = frames.array("other.b2nd", elements(), {"--clevel", "5", "--checksum"});
  const auto set = [](const std::string& frame, const std::string& layer) {
    BOOST_TEST(b2frame({"set-meta", frame, layer}).ok());
  };
  set(one, "unit:=\"K\"");
  set(other, "unit:=\"C\"");
  set(other, "more:=1");
  BOOST_TEST(difference({}, one, other, 0) == "");
  const std::string told = difference({"--meta"}, one, other, 1);
  BOOST_TEST(told.starts_with("clevel 3 and 5\n"), told);
  BOOST_TEST(told.ends_with("\nvlmetalayer unit: \"K\" and \"C\"\nvlmetalayer more only in " +
                            other + "\n"),
             told);
  BOOST_TEST(difference({"-q", "--meta"}, one, other, 1) == one + " and " + other + " differ\n");
  BOOST_TEST(difference({"--meta"}, one, one, 0) == "");
}

BOOST_AUTO_TEST_CASE(chunks_that_are_stored_alike_are_not_decoded) {
  const DiffFrames frames;
  ByteVector contents = make_contents("text", 1, 1 << 20, 1);
  ByteVector frame = flat_frame(contents);
  const auto damage = [](ByteVector& bytes) {
    for (std::size_t at = 1000; at < 5000; at++) bytes[at] = 0xa5;
  };
  damage(frame);
  const std::string one = frames.write("one.b2frame", frame);
  const std::string copy = frames.write("copy.b2frame", frame);
  BOOST_TEST(b2frame({"verify", one}).status == 1);
  BOOST_TEST(difference({}, one, copy, 0) == "");
  contents[900000] ^= 1;
  ByteVector later = flat_frame(contents);
  damage(later);
  BOOST_TEST(
      difference({}, one, frames.write("later.b2frame", later), 1).starts_with("item 900000: "));
  Cut other_chunks;
  other_chunks.chunksize = 32768;
  const ProcessResult trouble =
      b2frame({"diff", one, frames.write("o.b2frame", flat_frame(contents, other_chunks))});
  BOOST_TEST(trouble.status == 2);
  BOOST_TEST(trouble.err.find("chunk 0") != std::string::npos, trouble.err);
}

BOOST_AUTO_TEST_CASE(trouble_is_neither_equal_nor_different) {
  const DiffFrames frames;
  const std::string sound = frames.write("a.b2frame", flat_frame(ByteVector(10, 1)));
  const ProcessResult missing = b2frame({"diff", sound, frames.at("nowhere")});
  BOOST_TEST(missing.status == 2);
  BOOST_TEST(is_message_about(missing.err, frames.at("nowhere")), missing.err);
  BOOST_TEST(b2frame({"diff", frames.write("plain", bytes_of("no frame")), sound}).status == 2);
  BOOST_TEST(b2frame({"diff", sound}).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()
