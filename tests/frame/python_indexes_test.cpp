#include "frame/python/python_indexes.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using nlohmann::json;

namespace {

using ByteVector = std::vector<std::uint8_t>;

ByteVector packed(const json& value) { return json::to_msgpack(value); }

json descriptor(bool stale) {
  return {{"kind", "full"}, {"stale", stale}, {"shape", {"__tuple__", 5}}, {"levels", nullptr}};
}

ByteVector schema_of(const json& value) { return packed(value.dump()); }

/// Returns the concatenated names of the columns that other columns of the table are generated
/// from.
std::string sources_in(const json& columns) {
  std::string names;
  for (const std::string& name : generating_columns(schema_of({{"columns", columns}})))
    names += name;
  return names;
}

json generated(const std::string& name, const std::vector<std::string>& sources) {
  return {{"name", name}, {"col_deps", sources}, {"stale", false}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_indexes)

BOOST_AUTO_TEST_CASE(sets_the_flags_of_all_descriptors_and_nothing_else) {
  const json before = {
      {"version", 1},
      {"stale", false},
      {"indexes",
       {{"a", descriptor(false)}, {"b", descriptor(true)}, {"stale", descriptor(false)}}},
      {"other", {{"a", {{"stale", false}}}}}};
  json after = before;
  after["indexes"]["a"]["stale"] = after["indexes"]["stale"]["stale"] = true;
  BOOST_TEST((stale_array_indexes(packed(before)) == packed(after)));
}

BOOST_AUTO_TEST_CASE(changes_nothing_where_all_is_stale_or_nothing_is_there) {
  BOOST_TEST(!stale_array_indexes(packed({{"indexes", {{"a", descriptor(true)}}}})));
  BOOST_TEST(!stale_array_indexes(packed({{"indexes", json::object()}})));
  BOOST_TEST(!stale_array_indexes(packed(json::object())));
}

BOOST_AUTO_TEST_CASE(leaves_flags_deeper_inside_a_descriptor_alone) {
  json inner = descriptor(true);
  inner["levels"] = {{"block", {{"stale", false}}}};
  BOOST_TEST(!stale_array_indexes(packed({{"indexes", {{"a", inner}}}})));
}

BOOST_AUTO_TEST_CASE(refuses_what_are_no_descriptors) {
  json unflagged = descriptor(false);
  unflagged.erase("stale");
  for (const json& indexes :
       {json(1), json("a"), json::array(), json{{"a", 1}}, json{{"a", {1, 2}}},
        json{{"a", unflagged}}, json{{"a", {{"stale", 0}}}}, json{{"a", {{"stale", {false}}}}}})
    BOOST_CHECK_THROW(stale_array_indexes(packed({{"indexes", indexes}})), Error);
}

BOOST_AUTO_TEST_CASE(names_the_columns_of_a_catalog) {
  const json catalog = {{"a", descriptor(false)}, {"b.c", descriptor(true)}};
  BOOST_TEST(indexed_columns(packed(catalog)) == (std::vector<std::string>{"a", "b.c"}),
             boost::test_tools::per_element());
  BOOST_TEST(indexed_columns(packed(json::object())).empty());
  for (const json& other : {json(1), json("a"), json::array(), json::array({{{"a", 1}}})})
    BOOST_CHECK_THROW(indexed_columns(packed(other)), Error);
}

BOOST_AUTO_TEST_CASE(refuses_each_truncation_and_bytes_behind_the_end) {
  ByteVector catalog = packed({{"a", descriptor(false)}});
  ByteVector indexes = packed({{"indexes", {{"a", descriptor(false)}}}});
  for (std::size_t size = 0; size < catalog.size(); size++)
    BOOST_CHECK_THROW(indexed_columns({catalog.data(), size}), Error);
  for (std::size_t size = 0; size < indexes.size(); size++)
    BOOST_CHECK_THROW(stale_array_indexes({indexes.data(), size}), Error);
  catalog.push_back(0);
  indexes.push_back(0);
  BOOST_CHECK_THROW(indexed_columns(catalog), Error);
  BOOST_CHECK_THROW(stale_array_indexes(indexes), Error);
}

BOOST_AUTO_TEST_CASE(refuses_what_is_nested_deeply_or_large) {
  ByteVector deep(1 << 20, 0x91);
  const ByteVector large(kMaxIndexMetadata + 1, 0x80), huge{0xdf, 0xff, 0xff, 0xff, 0xff};
  for (const ByteVector& bytes : {deep, large, huge}) {
    BOOST_CHECK_THROW(indexed_columns(bytes), Error);
    BOOST_CHECK_THROW(stale_array_indexes(bytes), Error);
  }
  const ByteVector key = packed({{"a", 1}});
  deep.insert(deep.begin(), key.begin(), key.end() - 1);
  BOOST_CHECK_THROW(indexed_columns(deep), Error);
  BOOST_CHECK_THROW(generating_columns(packed("{\"col_deps\":" + std::string(1000, '['))), Error);
}

BOOST_AUTO_TEST_CASE(refuses_schemas_that_would_take_long) {
  json columns = json::object();
  for (int i = 0; i < 10000; i++) columns["column" + std::to_string(i)] = 0;
  columns["c"] = generated("c", {"a"});
  BOOST_CHECK_THROW(generating_columns(schema_of(columns)), Error);
  const json many = json::array_t(300000, json(0));
  BOOST_CHECK_THROW(generating_columns(schema_of({{"x", many}, {"c", generated("c", {"a"})}})),
                    Error);
}

BOOST_AUTO_TEST_CASE(names_the_columns_that_others_are_generated_from) {
  BOOST_TEST(sources_in({generated("c", {"b"}), generated("b", {"a"}),
                         json{{"name", "v"}, {"col_deps", nullptr}}}) == "ab");
  BOOST_TEST(sources_in(json::array()).empty());
}

BOOST_AUTO_TEST_CASE(knows_the_files_of_a_column_by_their_keys) {
  for (const char* key : {"a/b", "a/b.notnull", "a/b.utf8", "a/b_dict"})
    BOOST_TEST(holds_values_of(key, "a.b"));
  BOOST_TEST(holds_values_of("c%2Ed", "c\\.d"));
  for (const char* key : {"a", "a/bc", "a/b/c"}) BOOST_TEST(!holds_values_of(key, "a.b"));
}

BOOST_AUTO_TEST_CASE(leaves_a_schema_without_such_columns_alone_whatever_it_is) {
  BOOST_TEST(generating_columns(packed("{ \"columns\" : [] ")).empty());
  BOOST_CHECK_THROW(generating_columns(packed("{\"col_deps\": 1}")), Error);
  BOOST_CHECK_THROW(generating_columns(packed(1)), Error);
}

BOOST_AUTO_TEST_CASE(recognises_tables) {
  BOOST_TEST(is_table_kind(packed("ctable")));
  BOOST_TEST(!is_table_kind(packed("ntable")));
  BOOST_TEST(!is_table_kind(packed(1)));
  BOOST_CHECK_THROW(is_table_kind(packed(json::object({{"a", 1}}))), Error);
}

BOOST_AUTO_TEST_SUITE_END()
