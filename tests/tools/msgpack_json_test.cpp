#include "tools/msgpack_json.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using bloscfs::tools::metalayer_to_json;
using bloscfs::tools::msgpack_to_json;
using nlohmann::json;

using ByteVector = std::vector<std::uint8_t>;

ByteVector bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// `depth` arrays inside one another.
ByteVector nested(std::size_t depth) {
  ByteVector bytes(depth, 0x91);
  bytes.push_back(0xc0);
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(msgpack_as_json)

BOOST_AUTO_TEST_CASE(decodes_nested_values) {
  const json value = {{"a", {1, -2, true, nullptr}}, {"b", {{"c", "text"}}}, {"d", 2.5}};
  const auto decoded = msgpack_to_json(json::to_msgpack(value));
  BOOST_TEST_REQUIRE(decoded.has_value());
  BOOST_TEST(*decoded == value);
}

BOOST_AUTO_TEST_CASE(decodes_a_b2nd_metalayer) {
  const ByteVector b2nd = {0x97, 0,    1,    0x91, 0xd3, 0, 0, 0,    0,    0,  0, 0,
                           9,    0x91, 0xd2, 0,    0,    0, 4, 0x91, 0xd2, 0,  0, 0,
                           2,    0,    0xdb, 0,    0,    0, 3, '<',  'f',  '4'};
  BOOST_TEST(msgpack_to_json(b2nd).value() == json::parse(R"([0,1,[9],[4],[2],0,"<f4"])"));
}

BOOST_AUTO_TEST_CASE(shows_binary_values_and_extensions_as_digits) {
  const ByteVector binary = {0xc4, 2, 0xab, 0x01};
  BOOST_TEST(msgpack_to_json(binary).value() == json({{"hex", "ab01"}}));
  const ByteVector extension = {0xd4, 5, 0xff};
  BOOST_TEST(msgpack_to_json(extension).value() == json({{"ext", 5}, {"hex", "ff"}}));
}

BOOST_AUTO_TEST_CASE(stops_at_the_depth_limit) {
  BOOST_TEST(msgpack_to_json(nested(64)).has_value());
  BOOST_TEST(!msgpack_to_json(nested(65)).has_value());
  BOOST_TEST(!msgpack_to_json(nested(10'000'000)).has_value());
}

BOOST_AUTO_TEST_CASE(rejects_lengths_beyond_the_input) {
  const ByteVector array = {0xdd, 0xff, 0xff, 0xff, 0xff, 1};
  const ByteVector text = {0xdb, 0xff, 0xff, 0xff, 0xff, 'a'};
  const ByteVector map = {0xdf, 0xff, 0xff, 0xff, 0xff};
  for (const ByteVector& bytes : {array, text, map}) BOOST_TEST(!msgpack_to_json(bytes));
}

BOOST_AUTO_TEST_CASE(rejects_bytes_behind_the_value) {
  BOOST_TEST(!msgpack_to_json(ByteVector{1, 2}).has_value());
  BOOST_TEST(!msgpack_to_json(ByteVector{}).has_value());
}

BOOST_AUTO_TEST_CASE(shows_other_contents_as_text_or_digits) {
  BOOST_TEST(metalayer_to_json(bytes_of("plain text\n")) == json("plain text\n"));
  BOOST_TEST(metalayer_to_json(ByteVector{'a', 0xff}) == json({{"hex", "61ff"}}));
  BOOST_TEST(metalayer_to_json(ByteVector{'a', 0x1b}) == json({{"hex", "611b"}}));
}

BOOST_AUTO_TEST_CASE(lines_survive_broken_utf8) {
  BOOST_TEST(bloscfs::tools::to_line(json(std::string("a\xff"))).find("\\ufffd") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
