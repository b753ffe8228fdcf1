#include "frame/header/object_list.hpp"

#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"

namespace {

using namespace bloscfs::frame;
using nlohmann::json;

using ByteVector = std::vector<std::uint8_t>;
constexpr ObjectList kObjects{ObjectList::Layout::object_in_chunk, ObjectList::Serializer::msgpack};
constexpr ObjectList kBatches{ObjectList::Layout::batch_in_block, ObjectList::Serializer::msgpack};

/// Returns the lines that a document is shown as.
std::string lines_of(const ObjectList& list, const ByteVector& document) {
  std::string lines;
  for (const json& object : objects_of(list, document)) lines += to_line(object) + "\n";
  return lines;
}

ByteVector described(const std::string& serializer) {
  return json::to_msgpack({{"version", 1}, {"serializer", serializer}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(object_lists)

BOOST_AUTO_TEST_CASE(are_known_by_their_metalayer) {
  const auto objects = parse_object_list("vlarray", described("msgpack"));
  BOOST_REQUIRE(objects);
  BOOST_CHECK(objects->layout == ObjectList::Layout::object_in_chunk);
  BOOST_CHECK(objects->serializer == ObjectList::Serializer::msgpack);
  const auto batches = parse_object_list("batcharray", described("json"));
  BOOST_REQUIRE(batches);
  BOOST_CHECK(batches->layout == ObjectList::Layout::batch_in_block);
  BOOST_CHECK(batches->serializer == ObjectList::Serializer::json);
  BOOST_CHECK(!parse_object_list("b2nd", described("msgpack")));
}

BOOST_AUTO_TEST_CASE(of_other_serializers_are_refused_by_name) {
  BOOST_CHECK_EXCEPTION(parse_object_list("batcharray", described("pickle")), bloscfs::codec::Error,
                        [](const auto& error) {
                          return error.code() == bloscfs::codec::FormatErrc::unsupported &&
                                 std::string(error.what()).find("pickle") != std::string::npos;
                        });
  for (const ByteVector& bad :
       {ByteVector{}, ByteVector{0x80}, ByteVector{0x01}, ByteVector{0xdf, 0xff, 0xff, 0xff, 0xff}})
    BOOST_CHECK_THROW(parse_object_list("vlarray", bad), bloscfs::codec::Error);
}

BOOST_AUTO_TEST_CASE(give_an_object_for_a_document_or_all_of_a_batch) {
  const ByteVector document = json::to_msgpack({1, "two", nullptr});
  BOOST_TEST(lines_of(kObjects, document) == "[1,\"two\",null]\n");
  BOOST_TEST(lines_of(kBatches, document) == "1\n\"two\"\nnull\n");
  BOOST_TEST(lines_of(kBatches, ByteVector{0x90}) == "");
  BOOST_CHECK_THROW(objects_of(kBatches, ByteVector{1}), bloscfs::codec::Error);
}

BOOST_AUTO_TEST_CASE(keep_integers_and_have_no_infinities) {
  BOOST_TEST(lines_of(kObjects, json::to_msgpack({std::numeric_limits<std::uint64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min()})) ==
             "[18446744073709551615,-9223372036854775808]\n");
  BOOST_TEST(lines_of(kObjects, json::to_msgpack({std::numeric_limits<double>::quiet_NaN(),
                                                  std::numeric_limits<double>::infinity(), 0.1})) ==
             "[null,null,0.1]\n");
}

BOOST_AUTO_TEST_CASE(mark_what_json_does_not_have) {
  BOOST_TEST(lines_of(kObjects, {0xc4, 4, 'a', 'b', 'c', 'd'}) == "{\"$binary\":\"YWJjZA==\"}\n");
  BOOST_TEST(lines_of(kObjects, {0xc4, 0}) == "{\"$binary\":\"\"}\n");
  BOOST_TEST(lines_of(kObjects, {0xd5, 42, 'a', 'b'}) == "{\"$frame\":\"YWI=\"}\n");
  BOOST_TEST(lines_of(kObjects, {0xc7, 4, 43, 0x81, 0xa1, 'k', 7}) == "{\"$ref\":{\"k\":7}}\n");
  // An extension that is not a map, and one with a map that is cut short.
  BOOST_TEST(lines_of(kObjects, {0xd4, 43, 7}) == "{\"$binary\":\"Bw==\",\"$ext\":43}\n");
  BOOST_TEST(lines_of(kObjects, {0xd4, 43, 0x81}) == "{\"$binary\":\"gQ==\",\"$ext\":43}\n");
  BOOST_TEST(lines_of(kObjects, {0xd4, 0xff, 0}) == "{\"$binary\":\"AA==\",\"$ext\":-1}\n");
}

BOOST_AUTO_TEST_CASE(show_tuples_as_arrays) {
  BOOST_TEST(lines_of(kObjects, json::to_msgpack({"__tuple__", 1, {{"a", {"__tuple__", 2}}}})) ==
             "[1,{\"a\":[2]}]\n");
  BOOST_TEST(lines_of(kObjects, json::to_msgpack("__tuple__")) == "\"__tuple__\"\n");
  // A batch itself is not a tuple.
  BOOST_TEST(lines_of(kBatches, json::to_msgpack({"__tuple__", {"__tuple__", 2}})) ==
             "\"__tuple__\"\n[2]\n");
}

BOOST_AUTO_TEST_CASE(read_json_within_the_same_limits) {
  const ObjectList list{ObjectList::Layout::batch_in_block, ObjectList::Serializer::json};
  const auto bytes = [](const std::string& text) { return ByteVector(text.begin(), text.end()); };
  BOOST_TEST(lines_of(list, bytes("[{\"b\":1, \"a\":[2]}, 18446744073709551615]")) ==
             "{\"a\":[2],\"b\":1}\n18446744073709551615\n");
  for (const std::string& bad : {std::string(), std::string("["), std::string("{}"),
                                 std::string("[1] 2"), std::string(10'000'000, '[')})
    BOOST_CHECK_THROW(objects_of(list, bytes(bad)), bloscfs::codec::Error);
}

BOOST_AUTO_TEST_CASE(bound_what_hostile_documents_cost) {
  // 64 nested arrays, or references within references.
  ByteVector deep(64, 0x91);
  deep.push_back(0xc0);
  BOOST_TEST(objects_of(kObjects, deep).size() == 1u);
  deep.insert(deep.begin(), 10'000'000, 0x91);
  BOOST_CHECK_THROW(objects_of(kObjects, deep), bloscfs::codec::Error);
  ByteVector references{0xc0};
  for (int level = 0; level < 1000; level++) {
    ByteVector outer{0x81, 0xa1, 'k', 0xc9};
    for (const int shift : {24, 16, 8, 0})
      outer.push_back(static_cast<std::uint8_t>(references.size() >> shift));
    outer.push_back(43);
    outer.insert(outer.end(), references.begin(), references.end());
    references = std::move(outer);
  }
  BOOST_TEST(objects_of(kObjects, references).size() == 1u);
  ByteVector many{0xdd, 0, 0x20, 0, 0};  // 2^21 values
  many.insert(many.end(), std::size_t{1} << 21, 1);
  BOOST_CHECK_THROW(objects_of(kObjects, many), bloscfs::codec::Error);
}

BOOST_AUTO_TEST_SUITE_END()
