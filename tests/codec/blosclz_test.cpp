// BloscLZ streams made by hand: the example of the format's description, and every kind of invalid
// stream.
#include "codec/compressor/blosclz.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/codec/chunk_builder.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

bool decodes(const ByteVector& stream, ByteVector& out) {
  return codec::make_blosclz_decompressor()->decompress(stream, {}, out);
}

bool decodes(const std::string& hex, std::size_t size) {
  ByteVector out(size);
  return decodes(from_hex(hex), out);
}

/// Appends literals in runs of at most 32.
void add_literals(ByteVector& stream, const ByteVector& bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 32) {
    const std::size_t count = std::min<std::size_t>(32, bytes.size() - i);
    stream.push_back(static_cast<std::uint8_t>(count - 1));
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(i);
    stream.insert(stream.end(), from, from + static_cast<std::ptrdiff_t>(count));
  }
}

void add_match(ByteVector& stream, std::size_t size, std::size_t distance) {
  const bool far = distance > 8191;
  const std::size_t high = far ? 31 : (distance - 1) >> 8;
  const std::size_t coded = size - 2;
  stream.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(coded, 7) << 5 | high));
  if (coded >= 7) {
    std::size_t more = coded - 7;
    for (; more >= 255; more -= 255) stream.push_back(255);
    stream.push_back(static_cast<std::uint8_t>(more));
  }
  stream.push_back(static_cast<std::uint8_t>(far ? 255 : (distance - 1) & 255));
  if (far) {
    stream.push_back(static_cast<std::uint8_t>((distance - 8192) >> 8));
    stream.push_back(static_cast<std::uint8_t>((distance - 8192) & 255));
  }
}

/// Decodes `before` literals, a match and `after` literals, and compares the result.
void check_match(std::size_t before, std::size_t size, std::size_t distance, std::size_t after) {
  ByteVector expected = noise(before);
  ByteVector stream;
  add_literals(stream, expected);
  add_match(stream, size, distance);
  for (std::size_t i = 0; i < size; ++i) expected.push_back(expected[expected.size() - distance]);
  const ByteVector tail = noise(after, 2);
  add_literals(stream, tail);
  append(expected, tail);
  ByteVector out(expected.size());
  const bool good = decodes(stream, out) && out == expected;
  BOOST_TEST(good, "match of " << size << " at " << distance << ", " << after << " behind");
}

BOOST_AUTO_TEST_SUITE(blosclz)

BOOST_AUTO_TEST_CASE(decodes_the_example_of_the_format) {
  ByteVector out(800);
  BOOST_TEST(decodes(from_hex("276162636465666768e0ffffff0f0702666768"), out));
  for (std::size_t i = 0; i < out.size(); ++i) BOOST_REQUIRE(out[i] == 'a' + i % 8);
}

BOOST_AUTO_TEST_CASE(copies_matches_of_every_distance_and_size) {
  for (const std::size_t after : {1U, 3U, 9U, 17U, 40U}) {
    for (std::size_t distance = 1; distance <= 40; ++distance) {
      for (std::size_t size = 3; size <= 70; ++size) check_match(40, size, distance, after);
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_near_and_far_matches) {
  for (const std::size_t distance :
       {255U, 256U, 257U, 8190U, 8191U, 8192U, 8193U, 20000U, 73727U}) {
    for (const std::size_t size : {3U, 8U, 9U, 264U, 1000U}) {
      check_match(73727, size, distance, 1);
      check_match(73727, size, distance, 100);
    }
  }
}

BOOST_AUTO_TEST_CASE(ignores_the_top_bits_of_the_first_byte) {
  BOOST_TEST(
      decodes("026162"
              "63",
              3));
  BOOST_TEST(
      decodes("e26162"
              "63",
              3));
}

BOOST_AUTO_TEST_CASE(rejects_a_distance_before_the_start) {
  BOOST_TEST(
      decodes("0061"
              "6000"
              "0062",
              7));
  BOOST_TEST(
      !decodes("0061"
               "6001"
               "0062",
               7));
}

BOOST_AUTO_TEST_CASE(rejects_lengths_beyond_the_output) {
  BOOST_TEST(!decodes("0261626300", 2));
  BOOST_TEST(
      !decodes("0061"
               "6000"
               "0062",
               5));
  BOOST_TEST(
      !decodes("0061"
               "e0ffffff00"
               "00"
               "0062",
               20));
}

BOOST_AUTO_TEST_CASE(rejects_an_output_that_is_too_short) {
  BOOST_TEST(!decodes("02616263", 4));
  BOOST_TEST(
      !decodes("0061"
               "6000"
               "0062",
               8));
}

BOOST_AUTO_TEST_CASE(rejects_a_match_at_the_end) {
  BOOST_TEST(
      !decodes("0061"
               "6000",
               6));
}

BOOST_AUTO_TEST_CASE(rejects_a_stream_cut_anywhere) {
  ByteVector stream;
  add_literals(stream, noise(9000));
  add_match(stream, 600, 8500);
  add_literals(stream, noise(5));
  ByteVector out(9605);
  BOOST_TEST(decodes(stream, out));
  while (!stream.empty()) {
    stream.pop_back();
    BOOST_REQUIRE(!decodes(stream, out));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
