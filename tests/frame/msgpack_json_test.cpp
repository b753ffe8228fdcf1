#include "frame/header/msgpack_json.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using bloscfs::frame::json_to_msgpack;
using bloscfs::frame::metalayer_to_json;
using bloscfs::frame::msgpack_to_json;
using bloscfs::frame::to_line;
using nlohmann::json;

using ByteVector = std::vector<std::uint8_t>;

ByteVector bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// Makes `depth` nested arrays.
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

BOOST_AUTO_TEST_CASE(json_becomes_msgpack_and_comes_back) {
  for (const char* text : {R"({"z":1,"a":[true,null,-5,2.5,"text"],"m":{}})", "0", R"("")", "[]",
                           "18446744073709551615"})
    BOOST_TEST(msgpack_to_json(json_to_msgpack(bytes_of(text))).value() == json::parse(text));
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  BOOST_TEST(msgpack_to_json(json_to_msgpack(bytes_of(deepest))).value() == json::parse(deepest));
  BOOST_TEST((json_to_msgpack(bytes_of(R"({"z":1,"a":2})")) ==
              ByteVector{0x82, 0xa1, 'z', 1, 0xa1, 'a', 2}));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_becomes_no_msgpack) {
  for (const char* text : {"", "text", "{", "{\"a\":1} 2", "[1e400]", "{1:2}", "\"\xff\""})
    BOOST_CHECK_THROW(json_to_msgpack(bytes_of(text)), std::runtime_error);
  BOOST_CHECK_THROW(json_to_msgpack(bytes_of(std::string(65, '[') + std::string(65, ']'))),
                    std::runtime_error);
}

BOOST_AUTO_TEST_CASE(what_stands_for_bytes_becomes_no_map) {
  for (const ByteVector& bytes : {ByteVector{0xc4, 2, 0xab, 0x01}, ByteVector{0xd4, 5, 0xff},
                                  ByteVector{0x81, 0xa1, 'a', 0xc4, 0}, ByteVector{0x81, 1, 2}}) {
    const std::string shown = to_line(metalayer_to_json(bytes));
    BOOST_CHECK_THROW(json_to_msgpack(bytes_of(shown)), std::runtime_error);
  }
  BOOST_TEST(!json_to_msgpack(bytes_of(R"({"hex":1,"other":"00"})")).empty());
}

BOOST_AUTO_TEST_CASE(lines_survive_broken_utf8) {
  BOOST_TEST(to_line(json(std::string("a\xff"))).find("\\ufffd") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
