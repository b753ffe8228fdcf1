// Tests `cat` of ranges of items, and of items as text.

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

template <typename Item>
ByteVector bytes_of_items(const std::vector<Item>& items) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(items.data());
  return ByteVector(first, first + items.size() * sizeof(Item));
}

struct CatPlace {
  std::string write(const std::string& name, const ByteVector& frame) const {
    write_file(home / name, frame);
    return (home / name).string();
  }
  template <typename Item>
  std::string array(const std::vector<std::int64_t>& shape, const std::string& dtype,
                    const std::vector<Item>& items, std::size_t itemsize = sizeof(Item)) const {
    return write("array.b2nd", array_frame(bytes_of_items(items), shape, dtype, itemsize));
  }
  TempDir home;
};

std::string cat(const Arguments& arguments) {
  const ProcessResult result = b2frame(Arguments{"cat"} + arguments);
  BOOST_TEST(result.ok(), result.description());
  return result.out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_cat)

BOOST_AUTO_TEST_CASE(gives_the_items_asked_for) {
  const CatPlace place;
  std::vector<std::int32_t> items(50000);
  for (std::size_t i = 0; i < items.size(); i++) items[i] = static_cast<std::int32_t>(i * 7);
  const ByteVector bytes = bytes_of_items(items);
  const std::string all(bytes.begin(), bytes.end());
  Cut cut;
  cut.typesize = 4;
  cut.chunksize = 120000;
  ByteVector with_rest = bytes;
  with_rest.insert(with_rest.end(), 3, 'x');
  const std::string flat = place.write("f.b2frame", flat_frame(with_rest, cut));
  BOOST_TEST((cat({"-s", "10", "-n", "5", flat}) == all.substr(40, 20)));
  BOOST_TEST((cat({"-s", "49990", flat}) == all.substr(49990 * 4) + "xxx"));
  BOOST_TEST((cat({"-s", "-3", "-n", "2", flat}) == all.substr(49997 * 4, 8)));
  BOOST_TEST((cat({"-s", "-100000", "-n", "1", flat}) == all.substr(0, 4)));
  BOOST_TEST((cat({"-n", "0", flat}).empty()));
  BOOST_TEST((cat({"--start=50000", flat}) == "xxx"));
  const std::string array = place.array({500, 100}, "<i4", items);
  BOOST_TEST((cat({"-s", "150", "-n", "60", array}) == all.substr(600, 240)));
  const ProcessResult beyond = b2frame({"cat", "-s", "50001", flat});
  BOOST_TEST(beyond.status == 2);
  BOOST_TEST(beyond.err.find("item 50001 is behind the end at 50000") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(text_has_the_last_dimension_on_a_line) {
  const CatPlace place;
  const std::string matrix = place.array<std::int16_t>({2, 3}, "<i2", {1, -2, 3, 4, 5, -6});
  BOOST_TEST(cat({"--text", matrix}) == "1 -2 3\n4 5 -6\n");
  BOOST_TEST(cat({"--text", "-s", "2", "-n", "3", matrix}) == "3\n4 5\n");
  BOOST_TEST(cat({"--text", place.array<std::int16_t>({3}, "<i2", {7, 8, 9})}) == "7\n8\n9\n");
  BOOST_TEST(cat({"--text", place.array<double>({}, "<f8", {2.5})}) == "2.5\n");
  BOOST_TEST(cat({"--text", place.array<double>({3, 0}, "<f8", {})}) == "");
  BOOST_TEST(cat({"--text", place.array<std::int8_t>({2, 2, 1}, "|i1", {1, 2, 3, 4})}) ==
             "1\n2\n3\n4\n");
}

BOOST_AUTO_TEST_CASE(text_is_the_shortest_that_reads_back) {
  const CatPlace place;
  const auto text = [&](const std::string& dtype, const auto& items, std::size_t size) {
    const auto count = static_cast<std::int64_t>(items.size() * sizeof(items[0]) / size);
    return cat({"--text", place.array({count}, dtype, items, size)});
  };
  BOOST_TEST(text("<f8", std::vector<double>{0.1, 1, -0.0, 1e300, NAN, -INFINITY}, 8) ==
             "0.1\n1.0\n-0.0\n1e+300\nnan\n-inf\n");
  BOOST_TEST(text("<f4", std::vector<float>{0.1F, 16777216}, 4) == "0.1\n16777216.0\n");
  BOOST_TEST(text(">u4", std::vector<std::uint32_t>{0x01000000, 0xffffffff}, 4) ==
             "1\n4294967295\n");
  // 0.1, 1, 65504 (the largest), 2^-24 (the smallest), minus infinity
  BOOST_TEST(text("<f2", std::vector<std::uint16_t>{0x2e66, 0x3c00, 0x7bff, 1, 0xfc00}, 2) ==
             "0.1\n1.0\n6.55e+04\n6e-08\n-inf\n");
  BOOST_TEST(text("<c8", std::vector<float>{1, -2.5F, 0, NAN}, 8) == "1.0-2.5j\n0.0+nanj\n");
  BOOST_TEST(text("|b1", std::vector<std::uint8_t>{0, 1}, 1) == "0\n1\n");
  BOOST_TEST(text("<U2", std::vector<char32_t>{'a', 0, 0xe9, ' ', 0, 0}, 8) ==
             "a\n\"\xc3\xa9 \"\n\"\"\n");
  BOOST_TEST(text("|S3", bytes_of(std::string("ab\0a\"b", 6)), 3) == "ab\n\"a\"\"b\"\n");
  constexpr std::int64_t kNat = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(text("<M8[D]", std::vector<std::int64_t>{0, 11016, -1, -719529, kNat}, 8) ==
             "1970-01-01\n2000-02-29\n1969-12-31\n-0001-12-31\nNaT\n");
  BOOST_TEST(text("<M8[25ms]", std::vector<std::int64_t>{1, -1}, 8) ==
             "1970-01-01T00:00:00.025\n1969-12-31T23:59:59.975\n");
  BOOST_TEST(text("<M8[M]", std::vector<std::int64_t>{-1, 14}, 8) == "1969-12\n1971-03\n");
  BOOST_TEST(text("<m8[s]", std::vector<std::int64_t>{-5, kNat}, 8) == "-5\nNaT\n");
}

BOOST_AUTO_TEST_CASE(items_without_a_dtype_are_integers_or_what_was_said) {
  const CatPlace place;
  Cut cut;
  cut.typesize = 4;
  const std::string flat =
      place.write("f.b2frame", flat_frame(bytes_of_items(std::vector<float>{1.5, -2, 0.25}), cut));
  BOOST_TEST(cat({"--text", "-n", "1", flat}) == "1069547520\n");
  BOOST_TEST(cat({"--dtype", "<f4", "-s", "-2", flat}) == "-2.0\n0.25\n");
  BOOST_TEST(cat({"--dtype", "uint16", "-n", "2", flat}) == "0\n16320\n");
  BOOST_TEST(b2frame({"cat", "--dtype", "f3", flat}).status == 2);
  cut.typesize = 3;
  const ProcessResult odd =
      b2frame({"cat", "--text", place.write("o.b2frame", flat_frame(ByteVector(30, 1), cut))});
  BOOST_TEST(odd.status == 1);
  BOOST_TEST(odd.err.find("--dtype says what they are") != std::string::npos, odd.err);
  const std::string records =
      place.array<std::int32_t>({1}, "[('a', '<i4'), ('b', '<i4')]", {1, 2}, 8);
  BOOST_TEST(cat({"--text", records}) == "1 2\n");
}

BOOST_AUTO_TEST_CASE(counts_that_are_no_numbers_are_named) {
  const CatPlace place;
  const std::string file = place.array<std::uint8_t>({3}, "|u1", {1, 2, 3}, 1);
  const auto told = [&](const Arguments& arguments) {
    const ProcessResult result = b2frame(arguments + Arguments{file});
    BOOST_TEST(result.status == 2, result.description());
    return result.err.substr(0, result.err.find('\n'));
  };
  const std::string what = " is not a number of items or rows, such as 10";
  BOOST_TEST(told({"cat", "-n", "abc"}) == "b2frame: --count N: 'abc'" + what);
  BOOST_TEST(told({"cat", "-n", "-3"}) == "b2frame: --count N: '-3'" + what);
  BOOST_TEST(told({"head", "-n", "1e3"}) == "b2frame: --count N: '1e3'" + what);
  BOOST_TEST(told({"extract", "-o", "-", "--count", ""}) == "b2frame: --count N: ''" + what);
  BOOST_TEST(told({"cat", "-s", "x"}) ==
             "b2frame: --start N: 'x' is not the number of an item, such as 10 or -10");
  BOOST_TEST(told({"create", "-o", "x", "--clevel", "10"}) ==
             "b2frame: --clevel LEVEL: '10' is not a number from 0 to 9");
  BOOST_TEST(told({"cat", "--retry-time", "1h"}) ==
             "b2frame: --retry-time SECONDS: '1h' is not a number from 0 to 86400");
  BOOST_TEST(cat({"-s", "-2", "--text", file}) == "2\n3\n");
  BOOST_TEST(b2frame({"head", "-2", file}).out == "1\n2\n");
}

BOOST_AUTO_TEST_CASE(reads_nothing_but_what_was_asked_for) {
  const CatPlace place;
  const ByteVector contents = make_contents("text", 1, 1 << 20, 1);
  ByteVector frame = flat_frame(contents);
  for (std::size_t at = 1000; at < frame.size() * 3 / 4; at++) frame[at] = 0xa5;
  const std::string damaged = place.write("damaged.b2frame", frame);
  BOOST_TEST(b2frame({"cat", damaged}).status == 1);
  BOOST_TEST(b2frame({"cat", "-n", "1", damaged}).status == 1);
  BOOST_TEST((cat({"-s", "-1000", "-n", "4", damaged}) ==
              std::string(contents.end() - 1000, contents.end() - 996)));
}

BOOST_AUTO_TEST_SUITE_END()
