// Shuffle and bitshuffle: the format's examples, and the vectorised code compared with the scalar
// code.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "codec/filter/bitshuffle.hpp"
#include "codec/filter/shuffle.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/codec/each_target.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using Filter = void (*)(codec::Bytes, codec::MutableBytes, std::size_t);

ByteVector apply(Filter filter, const ByteVector& in, std::size_t width) {
  ByteVector out(in.size(), 0xEE);
  filter(in, out, width);
  return out;
}

std::string apply_hex(Filter filter, const char* in, std::size_t width) {
  return to_hex(apply(filter, from_hex(in), width));
}

/// Returns odd sizes, and sizes around every vector length and tile edge.
std::vector<std::size_t> sizes_for(std::size_t width) {
  std::vector<std::size_t> sizes{0, 1, width - 1};
  for (const std::size_t elements : {1U,  7U,  8U,  9U,   15U,  16U,  17U,  31U,  32U,  33U,
                                     63U, 64U, 65U, 127U, 128U, 129U, 255U, 257U, 600U, 1000U}) {
    sizes.push_back(elements * width);
    sizes.push_back(elements * width + width / 2);
    sizes.push_back(elements * width + width - 1);
  }
  sizes.push_back(40000);
  sizes.push_back(70001);
  return sizes;
}

std::vector<std::size_t> widths() {
  std::vector<std::size_t> widths;
  for (std::size_t width = 1; width <= 40; ++width) widths.push_back(width);
  for (const std::size_t width : {48U, 63U, 64U, 100U, 128U, 254U, 255U}) widths.push_back(width);
  return widths;
}

void compare(Filter filter, Filter twin) {
  for (const std::size_t width : widths()) {
    const std::vector<std::size_t> sizes = sizes_for(width);
    const std::size_t largest = *std::max_element(sizes.begin(), sizes.end());
    const ByteVector bytes = noise(largest, static_cast<std::uint32_t>(width));
    for (const std::size_t size : sizes) {
      const ByteVector in(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const ByteVector expected = apply(twin, in, width);
      for_each_target([&] {
        if (apply(filter, in, width) != expected)
          BOOST_ERROR("width " << width << ", " << size << " bytes differ");
      });
    }
  }
}

void round_trip(Filter forward, Filter backward) {
  for (const std::size_t width : widths()) {
    const ByteVector in = noise(3001, static_cast<std::uint32_t>(width));
    const ByteVector filtered = apply(forward, in, width);
    BOOST_TEST((width == 1 || filtered != in));
    BOOST_TEST((apply(backward, filtered, width) == in), "width " << width);
  }
}

BOOST_AUTO_TEST_SUITE(shuffle_filters)

BOOST_AUTO_TEST_CASE(shuffles_the_examples_of_the_format) {
  const char* const plain = "000102030405060708090a0b0c0d0e0ff0f1";
  const char* const shuffled = "0004080c0105090d02060a0e03070b0ff0f1";
  BOOST_TEST(apply_hex(codec::shuffle, plain, 4) == shuffled);
  BOOST_TEST(apply_hex(codec::unshuffle, shuffled, 4) == plain);
  BOOST_TEST(apply_hex(codec::shuffle, "00010203040506070809", 3) == "00030601040702050809");
  BOOST_TEST(apply_hex(codec::unshuffle, "00030601040702050809", 3) == "00010203040506070809");
}

BOOST_AUTO_TEST_CASE(bitshuffles_the_examples_of_the_format) {
  BOOST_TEST(apply_hex(codec::bitshuffle, "0102030405060708", 1) == "5566788000000000");
  const char* const pairs = "01000200030004000500060007000001";
  const char* const bits = "55667800000000008000000000000000";
  BOOST_TEST(apply_hex(codec::bitshuffle, pairs, 2) == bits);
  BOOST_TEST(apply_hex(codec::bitunshuffle, bits, 2) == pairs);
  BOOST_TEST(apply_hex(codec::bitunshuffle_scalar, bits, 2) == pairs);
  BOOST_TEST(apply_hex(codec::bitshuffle, "0000010002000300040005000600070008000900", 2) ==
             "aaccf0000000000000000000000000000"
             "8000900");
  const char* const seven = "0102030405060708090a0b0c0d0e";
  BOOST_TEST(apply_hex(codec::bitshuffle, seven, 2) == seven);
}

BOOST_AUTO_TEST_CASE(shuffle_equals_its_scalar_twin) {
  compare(codec::shuffle, codec::shuffle_scalar);
}
BOOST_AUTO_TEST_CASE(unshuffle_equals_its_scalar_twin) {
  compare(codec::unshuffle, codec::unshuffle_scalar);
}
BOOST_AUTO_TEST_CASE(bitshuffle_equals_its_scalar_twin) {
  compare(codec::bitshuffle, codec::bitshuffle_scalar);
}
BOOST_AUTO_TEST_CASE(bitunshuffle_equals_its_scalar_twin) {
  compare(codec::bitunshuffle, codec::bitunshuffle_scalar);
}

BOOST_AUTO_TEST_CASE(both_undo_what_they_did) {
  for_each_target([] {
    round_trip(codec::shuffle, codec::unshuffle);
    round_trip(codec::bitshuffle, codec::bitunshuffle);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
