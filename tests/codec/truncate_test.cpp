// Filters that clear low bits: the format's examples.
#include "codec/filter/truncate.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/codec/chunk_builder.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::FilterId;

/// Truncates the item five times in a row, followed by a part of it. Returns what one item becomes.
std::string truncated(const std::string& hex, FilterId id, int parameter) {
  const ByteVector item = from_hex(hex);
  const auto bits = codec::truncated_bits({id, static_cast<std::uint8_t>(parameter)}, item.size());
  BOOST_REQUIRE(bits.has_value());
  ByteVector in;
  for (int i = 0; i < 5; ++i) append(in, item);
  in.insert(in.end(), item.begin(), item.end() - 1);
  ByteVector out(in.size());
  codec::truncate(in, out, item.size(), *bits);
  const auto width = static_cast<std::ptrdiff_t>(item.size());
  const std::string first = to_hex({out.begin(), out.begin() + width});
  for (int i = 1; i < 5; ++i) {
    BOOST_TEST(to_hex({out.begin() + i * width, out.begin() + (i + 1) * width}) == first);
  }
  BOOST_TEST(to_hex({out.begin() + 5 * width, out.end()}) ==
             to_hex({item.begin(), item.end() - 1}));
  return first;
}

BOOST_AUTO_TEST_SUITE(truncate)

BOOST_AUTO_TEST_CASE(keeps_bits_of_the_mantissa) {
  BOOST_TEST(truncated("cdcc8c3f", FilterId::trunc_prec, 10) == "00c08c3f");
  BOOST_TEST(truncated("cdcc8c3f", FilterId::trunc_prec, -13) == "00c08c3f");
  BOOST_TEST(truncated("cdcc8c3f", FilterId::trunc_prec, -10) == "00cc8c3f");
  BOOST_TEST(truncated("cdcc8c3f", FilterId::trunc_prec, 23) == "cdcc8c3f");
  BOOST_TEST(truncated("9a9999999999f13f", FilterId::trunc_prec, 10) == "000000000098f13f");
  BOOST_TEST(truncated("9a9999999999f13f", FilterId::trunc_prec, -42) == "000000000098f13f");
  BOOST_TEST(truncated("9a9999999999f13f", FilterId::trunc_prec, -51) == "000000000000f03f");
}

BOOST_AUTO_TEST_CASE(keeps_bits_of_integers) {
  BOOST_TEST(truncated("e8030000", FilterId::int_trunc, 28) == "e0030000");
  BOOST_TEST(truncated("eb030000", FilterId::int_trunc, -4) == "e0030000");
  BOOST_TEST(truncated("e8030000", FilterId::int_trunc, 32) == "e8030000");
  BOOST_TEST(truncated("ffffffff", FilterId::int_trunc, -31) == "00000080");
  BOOST_TEST(truncated("ff", FilterId::int_trunc, 3) == "e0");
  BOOST_TEST(truncated("ffff", FilterId::int_trunc, -9) == "00fe");
  BOOST_TEST(truncated("ffffffffffffffff", FilterId::int_trunc, 1) == "0000000000000080");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
