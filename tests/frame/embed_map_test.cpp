// The map of embedded leaves: which entries are read, and how keys are removed.

#include "frame/pystore/embed_map.hpp"

#include <algorithm>
#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/writing.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

constexpr std::uint64_t kHeap = 1000;

Buffer packed(const std::string& json) {
  return json_to_msgpack({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()});
}

EmbedMap map_from(Bytes bytes) { return {bytes, kHeap}; }

/// Returns a map with these entries.
EmbedMap map_of(const std::string& entries) {
  return {packed(R"({"embed_map":{)" + entries + R"(},"current_offset":0})"), kHeap};
}

std::size_t left_out(const std::string& entry) {
  const EmbedMap map = map_of(entry);
  BOOST_TEST(map.size() == 0U);
  return map.left_out().messages().size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(embed_map)

BOOST_AUTO_TEST_CASE(entries_are_ranges_and_references) {
  const EmbedMap map = map_of(
      R"("/b/c":{"length":1000,"offset":0},"/a":{"urlbase":"http://h/","path":"/p/q.b2nd","note":[1]})");
  BOOST_TEST(map.left_out().empty());
  BOOST_TEST_REQUIRE(map.size() == 2U);
  BOOST_TEST(std::get<ReferencedLeaf>(map.leaf(*map.find("/a"))).url() == "http://h/p/q.b2nd");
  BOOST_TEST((std::get<EmbeddedLeaf>(map.leaf(*map.find("/b/c"))) == EmbeddedLeaf{0, 1000}));
  BOOST_TEST(!map.find("/b"));
}

BOOST_AUTO_TEST_CASE(entries_that_make_no_sense_are_left_out_alone) {
  for (const char* range :
       {R"({"offset":-5,"length":100})", R"({"offset":0,"length":1001})",
        R"({"offset":1001,"length":1})", R"({"offset":1000,"length":1})",
        R"({"offset":18446744073709551615,"length":2})", R"({"offset":0,"length":0})",
        R"({"offset":0})", R"({"offset":"0","length":1})", R"({"offset":0.5,"length":1})", "{}",
        R"({"urlbase":"http://h/"})", R"({"urlbase":"a\u0000","path":"b"})"})
    BOOST_TEST(left_out(std::string("\"/a\":") + range) == 1U, range);
  for (const char* key :
       {"", "/", "a", "/a/", "//a", "/a//b", "/..", "/a/./b", "/a:b", "/a\\n", "/\\u0000"})
    BOOST_TEST(left_out(std::string("\"") + key + R"(":{"offset":0,"length":1})") == 1U, key);
  const EmbedMap map =
      map_of(R"("/a":{"offset":2000,"length":1},"/b":{"offset":1,"length":1},"c":{})");
  BOOST_TEST(map.size() == 1U);
  BOOST_TEST(map.left_out().messages().size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_no_map_is_malformed) {
  for (const char* json : {"1", "[]", "{}", R"({"embed_map":[]})", R"({"embed_map":{"/a":1}})"})
    BOOST_TEST(errno_of([&] { map_from(packed(json)); }) == EIO, json);
  const Buffer sound = packed(R"({"embed_map":{"/a":{"offset":0,"length":300}}})");
  for (std::size_t size = 0; size < sound.size(); ++size)
    BOOST_TEST(errno_of([&] { map_from(Bytes(sound).first(size)); }) == EIO);
  // Arrays nested 100,000 deep, and a map that announces more entries than the bytes hold.
  Buffer deep{0x81, 0xa1, 'x'};
  deep.insert(deep.end(), 100000, 0x91);
  BOOST_TEST(errno_of([&] { map_from(deep); }) == EIO);
  const Buffer announced{0xdf, 0xff, 0xff, 0xff, 0xff};
  BOOST_TEST(errno_of([&] { map_from(announced); }) == EIO);
}

BOOST_AUTO_TEST_CASE(of_two_entries_of_a_key_the_later_counts) {
  // The bytes below become: {"embed_map": {"/a": {offset 1, length 1}, "/a": {offset 2, length 1}}}
  Buffer bytes =
      packed(R"({"embed_map":{"/a":{"offset":1,"length":1},"/b":{"offset":2,"length":1}}})");
  const std::string second = "/b";
  const auto at = std::find_end(bytes.begin(), bytes.end(), second.begin(), second.end());
  at[1] = 'a';
  const EmbedMap map(bytes, kHeap);
  BOOST_TEST_REQUIRE(map.size() == 1U);
  BOOST_TEST(std::get<EmbeddedLeaf>(map.leaf(0)).offset == 2U);
}

BOOST_AUTO_TEST_CASE(without_a_map_there_are_no_leaves) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "embed.b2e", pattern(4096, 1));
  codec::BlockDecoder decoder;
  BOOST_TEST(EmbedMap::read(*open_on(disk, "embed.b2e"), decoder).size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
