// Slices of arrays on the command line, with NumPy's syntax.

#include <numeric>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/packed_tensor.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

using Items = std::vector<std::int32_t>;

std::string text_of_bytes(const Items& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * 4};
}

Items numbered(std::size_t count) {
  Items items(count);
  std::iota(items.begin(), items.end(), 0);
  return items;
}

struct SlicePlace {
  TempDir home;
  std::string file(const std::string& name) const { return (home / name).string(); }
  /// Makes an array of ascending numbers with these chunks and blocks.
  std::string array(const std::vector<std::int64_t>& shape, const std::string& chunks,
                    const std::string& blocks) const {
    std::size_t count = 1;
    for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
    write_file(home / "a.npy", npy_header("<i4", shape) + text_of_bytes(numbered(count)));
    const ProcessResult made = b2frame({"create", "--chunk-shape", chunks, "--block-shape", blocks,
                                        file("a.npy"), "-o", file("a.b2nd")});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    return file("a.b2nd");
  }
};

/// An index in the syntax of the command line, and the positions that it selects.
struct Index {
  std::string text;
  std::vector<int> places;
  bool is_single = false;
};

/// Finds the positions by trying each one, which is slow but obviously right.
Index random_index(Random& random, int size) {
  if (one_in(random, 4)) {
    const int place = between(random, 0, size - 1);
    return {std::to_string(one_in(random, 2) ? place : place - size), {place}, true};
  }
  const auto maybe = [&](std::string& text) {
    if (one_in(random, 4)) return std::optional<int>();
    const int bound = between(random, -size - 3, size + 3);
    text += std::to_string(bound);
    return std::optional<int>(bound < 0 ? bound + size : bound);
  };
  Index index;
  const auto start = maybe(index.text);
  index.text += ':';
  const auto stop = maybe(index.text);
  const int step = pick<int>(random, {1, 1, 2, 3, 100, -1, -2, -100});
  if (step != 1) index.text += ":" + std::to_string(step);
  const auto is_before = [&](int place, int other) {
    return step > 0 ? place < other : place > other;
  };
  int place = start.value_or(step > 0 ? 0 : size - 1);
  if (step > 0 && place < 0) place = 0;
  if (step < 0 && place >= size) place = size - 1;
  for (; place >= 0 && place < size; place += step) {
    // A stop before position 0 is never reached by a slice that goes backwards.
    if (stop && !is_before(place, *stop)) break;
    index.places.push_back(place);
  }
  return index;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_slices)

BOOST_AUTO_TEST_CASE(are_what_numpy_gives) {
  const SlicePlace place;
  const std::vector<std::int64_t> shape = {13, 17, 21};
  const std::string array = place.array(shape, "5,8,21", "2,4,10");
  Random random(1);
  for (int turn = 0; turn < 60; turn++) {
    std::vector<Index> indexes;
    std::string text;
    std::vector<std::int64_t> left;
    const int given = between(random, 1, 3);
    for (int axis = 0; axis < 3; axis++) {
      const int size = static_cast<int>(shape[static_cast<std::size_t>(axis)]);
      Index all;
      all.places.resize(static_cast<std::size_t>(size));
      std::iota(all.places.begin(), all.places.end(), 0);
      indexes.push_back(axis < given ? random_index(random, size) : all);
      if (axis < given) text += (axis > 0 ? ", " : "") + indexes.back().text;
      if (!indexes.back().is_single) left.push_back(std::ssize(indexes.back().places));
    }
    Items wanted;
    for (const int i : indexes[0].places)
      for (const int j : indexes[1].places)
        for (const int k : indexes[2].places) wanted.push_back((i * 17 + j) * 21 + k);
    BOOST_TEST_CONTEXT(text) {
      const std::string argument = array + "[" + text + "]";
      const ProcessResult result = b2frame({"cat", argument});
      BOOST_TEST(result.ok(), result.description());
      BOOST_TEST((result.out == text_of_bytes(wanted)));
      if (turn % 6 != 0) continue;
      BOOST_TEST(b2frame({"extract", argument, "-o", place.file("part.npy")}).ok());
      const ByteVector part = read_file(place.home / "part.npy");
      BOOST_TEST((std::string(part.begin(), part.end()) ==
                  npy_header("<i4", left) + text_of_bytes(wanted)));
    }
  }
}

BOOST_AUTO_TEST_CASE(go_with_every_kind_of_contents) {
  const SlicePlace place;
  const std::string bytes = text_of_bytes(numbered(100));
  const ByteVector contents(bytes.begin(), bytes.end());
  Cut cut;
  cut.typesize = 4;
  write_file(place.home / "flat.b2frame", flat_frame(contents, cut));
  write_file(place.home / "tensor.bl2", tensor_frame(contents, {10, 10}, "<i4"));
  const auto cat = [&](const Arguments& arguments) {
    const ProcessResult result = b2frame(Arguments{"cat"} + arguments);
    BOOST_TEST(result.ok(), result.description());
    return result.out;
  };
  BOOST_TEST((cat({place.file("flat.b2frame[3:90:40]")}) == text_of_bytes({3, 43, 83})));
  BOOST_TEST((cat({place.file("flat.b2frame[-1]")}) == text_of_bytes({99})));
  BOOST_TEST((cat({place.file("tensor.bl2[::-9, 1:3]")}) == text_of_bytes({91, 92, 1, 2})));
  BOOST_TEST((cat({place.file("tensor.bl2[..., 0]")}) ==
              text_of_bytes({0, 10, 20, 30, 40, 50, 60, 70, 80, 90})));
  BOOST_TEST(cat({"--text", place.file("tensor.bl2[2:4, ::5]")}) == "20 25\n30 35\n");
  BOOST_TEST(cat({"--text", place.file("tensor.bl2[2]")}) ==
             "20\n21\n22\n23\n24\n25\n26\n27\n28\n29\n");
  write_file(place.home / "one.b2nd", array_frame(ByteVector(4, 0), {}, "<i4", 4));
  BOOST_TEST((cat({place.file("one.b2nd[...]")}) == text_of_bytes({0})));
}

/// The bytes behind the last whole item have no index, so a slice cannot write them.
BOOST_AUTO_TEST_CASE(that_reach_an_incomplete_item_of_a_flat_frame_fail) {
  const SlicePlace place;
  Cut cut;
  cut.typesize = 4;
  const std::string bytes = "0123456789abcdefgh";
  const ByteVector contents(bytes.begin(), bytes.end());
  write_file(place.home / "flat.b2frame", flat_frame(contents, cut));
  for (const char* slice : {"[:]", "[0:]", "[-2:]", "[-1]", "[::2]", "[::-1]", "[2:9]", "[...]"}) {
    const std::string file = place.file("flat.b2frame") + slice;
    const ProcessResult result = b2frame({"extract", file, "-o", place.file("part.bin")});
    BOOST_TEST(result.status == 1, slice << result.description());
    BOOST_TEST(result.err.find("ends with 2 bytes, less than one item; read the whole file without "
                               "a slice") != std::string::npos,
               slice << result.err);
    BOOST_TEST(!std::filesystem::exists(place.home / "part.bin"));
  }
  const auto cat = [&](const Arguments& arguments) {
    const ProcessResult result = b2frame(Arguments{"cat"} + arguments);
    BOOST_TEST(result.ok(), result.description());
    return result.out;
  };
  BOOST_TEST(cat({place.file("flat.b2frame[:4]")}) == bytes.substr(0, 16));
  BOOST_TEST(cat({place.file("flat.b2frame[::3]")}) == "0123cdef");
  BOOST_TEST(cat({place.file("flat.b2frame[3]")}) == "cdef");
  BOOST_TEST(cat({"--dtype", "u1", place.file("flat.b2frame[-2:]")}) == "103\n104\n");
  BOOST_TEST(cat({place.file("flat.b2frame")}) == bytes);
}

BOOST_AUTO_TEST_CASE(of_leaves_of_stores_are_taken_by_their_keys) {
  const std::string column = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/python/table.b2d:/_cols/id";
  const ProcessResult all = b2frame({"cat", column});
  const auto size = info_of(column).at("typesize").get<std::size_t>();
  const ProcessResult some = b2frame({"cat", column + "[1:3]"});
  BOOST_TEST(some.ok(), some.description());
  BOOST_TEST((some.out == all.out.substr(size, 2 * size)));
}

BOOST_AUTO_TEST_CASE(leave_files_that_are_called_so_alone) {
  const SlicePlace place;
  write_file(place.home / "a[1]", flat_frame(std::string("all of it")));
  BOOST_TEST(b2frame({"cat", place.file("a[1]")}).out == "all of it");
  BOOST_TEST(b2frame({"cat", place.file("a[1][:3]")}).out == "all");
}

BOOST_AUTO_TEST_CASE(that_cannot_be_are_refused_with_the_axis_and_its_size) {
  const SlicePlace place;
  const std::string array = place.array({4, 5}, "4,5", "2,5");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[4]", "index 4 is out of bounds for axis 0 with size 4"},
      {"[0, -6]", "index -6 is out of bounds for axis 1 with size 5"},
      {"[..., 5]", "index 5 is out of bounds for axis 1 with size 5"},
      {"[:, ::0]", "axis 1 with size 5: the step of a slice is not 0"},
      {"[::1:1]", "axis 0 with size 4: a slice has at most start:stop:step"},
      {"[0, 0, 0]", "has 3 indexes, but the array has 2 dimensions"},
      {"[..., ...]", "has ... twice"},
      {"[x]", "[x] is not an index"},
      {"[]", "[] is not an index"},
      {"[1e3]", "is not an index"},
      {"[99999999999999999999]", "is not an index"}};
  for (const auto& [slice, words] : cases) {
    const ProcessResult result = b2frame({"cat", array + slice});
    BOOST_TEST(result.status == 2, slice << result.description());
    BOOST_TEST(result.err.find(words) != std::string::npos, slice << ": " << result.err);
  }
  const ProcessResult open = b2frame({"cat", array + "[0, 1"});
  BOOST_TEST(open.err.ends_with("; the slice has no closing bracket: '" + array + "[0, 1]'\n"),
             open.err);
  const std::string nested = "; a slice has one pair of brackets and no lists, as in [0, 2:5]\n";
  for (const char* slice : {"[0][1]", "[[1,2]]", "[[1,2], 0]"}) {
    const ProcessResult result = b2frame({"cat", array + slice});
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.ends_with(nested), result.err);
  }
  const ProcessResult elsewhere = b2frame({"diff", array + "[0]", array});
  BOOST_TEST(elsewhere.err.ends_with("; a slice goes with extract, cat, head, and info --stats\n"),
             elsewhere.err);
  BOOST_TEST(b2frame({"cat", "-n", "1", array + "[0]"}).status == 2);
  BOOST_TEST(b2frame({"extract", "--offset", "1", array + "[0]", "-o", "-"}).status == 2);
  BOOST_TEST(b2frame({"cat", array + "[9223372036854775807:-9223372036854775808:-1]"}).ok());
  BOOST_TEST(b2frame({"cat", array + "[::-9223372036854775808]"}).ok());
}

/// Damage to other blocks does not matter.
BOOST_AUTO_TEST_CASE(decode_no_other_blocks) {
  const SlicePlace place;
  constexpr std::int64_t kRows = 1000;
  const std::string array = place.array({kRows, 256}, "1000,256", "10,256");
  ByteVector frame = read_file(array);
  for (std::size_t at = 2000; at < frame.size() * 3 / 4; at++) frame[at] = 0xa5;
  write_file(array, frame);
  BOOST_TEST(b2frame({"cat", array + "[500]"}).status == 1);
  const ProcessResult last = b2frame({"cat", array + "[-1, ::128]"});
  BOOST_TEST((last.out == text_of_bytes({999 * 256, 999 * 256 + 128})), last.description());
}

BOOST_AUTO_TEST_SUITE_END()
